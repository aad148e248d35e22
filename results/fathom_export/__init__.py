"""Files of --benchmark_out as dashboards want them."""
