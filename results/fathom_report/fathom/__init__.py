"""The figures of the Fathom paper (IISWC 2016), one per file."""
