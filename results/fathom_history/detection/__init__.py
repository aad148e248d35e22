"""Finds changes of times and of profiles, with known rates of false ones."""
