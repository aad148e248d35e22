"""The figures of the TBD paper (IISWC 2018): speed and memory against batch size."""
