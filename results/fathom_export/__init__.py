"""Converts files of --benchmark_out to the formats of dashboards."""
