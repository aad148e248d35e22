"""The figures of the Fathom paper (IISWC 2016), one a file."""
