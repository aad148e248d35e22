"""Renders the pages of results/: templates, tables, colours, charts and figures."""
