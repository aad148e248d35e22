"""Reads the files of fathom_bench. Holds what all programs of results/ share: options and wording."""
