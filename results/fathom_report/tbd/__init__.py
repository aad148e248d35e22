"""The figures of the TBD paper (IISWC 2018): what a batch size buys, and what it costs."""
