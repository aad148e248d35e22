"""Reads what fathom_bench writes, for all programs of results/, and what their command lines and sentences share."""
