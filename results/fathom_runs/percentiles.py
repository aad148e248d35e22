"""Leaves out percentiles that too few samples bound. Earlier versions of fathom_bench wrote them from five samples on."""

# With a confidence of 95 %, the largest of n samples is not below the percentile q if q^n is at most 0.05.
MIN_SAMPLES = {"p50_us": 5, "p95_us": 59}


def bounded(entry):
    """The entry without such percentiles. An aggregate does not tell the number of its samples."""
    if "steps_per_sample" not in entry or entry.get("run_type") == "aggregate":
        return entry
    samples = entry["iterations"] / max(1, entry["steps_per_sample"])
    return {key: value for key, value in entry.items() if samples >= MIN_SAMPLES.get(key, 0)}
