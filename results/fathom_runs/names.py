"""What a row's name says of where it belongs."""

MODES = ("train", "infer")


def tokens(name):
    """The `key:value` parts of a row's name."""
    return dict(part.split(":", 1) for part in name.split("/") if ":" in part)


def kind(name):
    """One of "step", "inside" (an op type of a step), "op" (alone), "other": fixtures and other programs' rows."""
    parts = name.split("/")
    if parts[0] == "op" and len(parts) > 5:
        return "op"
    if len(parts) > 2 and parts[1] in MODES and "/device:" in name:
        return "inside" if "/op:" in name else "step"
    return "other"


def is_ours(name):
    """Whether fathom_bench has rows of such names."""
    return kind(name) != "other" or name.startswith("fixture/")


def step_of(name):
    """Of an op type's row `<step>/op:<type>/<suffix>`, the step's name and the type."""
    head, _, tail = name.partition("/op:")
    op_type, slash, suffix = tail.partition("/")
    return head + slash + suffix, op_type


def setting(name):
    """What a step and its ops alone have in common: workload, device, threads, precision."""
    parts, found = name.split("/"), tokens(name)
    workload = parts[2] if parts[0] == "op" else parts[0]
    return workload, *(found.get(key) for key in ("device", "threads", "precision"))


def short(name):
    """Without Google Benchmark's suffix, which all rows of ours share."""
    return name.removesuffix("/process_time/real_time")
