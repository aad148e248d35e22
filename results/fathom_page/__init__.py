"""Renders pages: templates, tables, colours, charts and figures."""
