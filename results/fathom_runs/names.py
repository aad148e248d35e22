"""Parses the names of rows."""

MODES = ("train", "infer", "generate")
CONTEXT = (
    ", context "  # between a decoder and the tokens in its cache, which are not its own number
)
TORCH = "torch"  # the backend of steps on LibTorch's own kernels
TORCH_PACKED = "torch_packed"  # of ops: LibTorch's oneDNN on weights that were reordered before


def tokens(name):
    """The `key:value` parts of a name as a dictionary."""
    return dict(part.split(":", 1) for part in name.split("/") if ":" in part)


def kind(name):
    """Kind of a row: "step", "inside" (an op type inside a step), "op", or "other" (fixtures, other programs)."""
    parts = name.split("/")
    if parts[0] == "op" and len(parts) > 5:
        return "op"
    if len(parts) > 2 and parts[1] in MODES and "/device:" in name:
        return "inside" if "/op:" in name else "step"
    return "other"


def is_fathom_row(name):
    """Whether the name has the form of a row of fathom_bench."""
    return kind(name) != "other" or name.startswith("fixture/")


def step_of(name):
    """Splits `<step>/op:<type>/<suffix>` into the name of the step and the op type."""
    head, _, tail = name.partition("/op:")
    op_type, slash, suffix = tail.partition("/")
    return head + slash + suffix, op_type


def setting(name):
    """Workload, device, threads, ranks and precision. A step and its op rows agree in them."""
    parts, found = name.split("/"), tokens(name)
    workload = parts[2] if parts[0] == "op" else parts[0]
    return workload, *(found.get(key) for key in ("device", "threads", "ranks", "precision"))


def without(name, key):
    """The name without one of its `key:value` parts."""
    return "/".join(part for part in name.split("/") if not part.startswith(f"{key}:"))


def common(rows):
    """The `key:value` parts of the name that all rows share."""
    found = [tokens(row) for row in rows]
    if len(found) < 2:
        return {}
    return {
        key: value for key, value in found[0].items() if all(one.get(key) == value for one in found)
    }


def title(row):
    """Workload and mode of a step."""
    return "/".join(row.split("/")[:2])


def brief(row, rows):
    """The title. If several rows share it, also the parts in which they differ."""
    alike = [other for other in rows if title(other) == title(row)]
    differing = in_words(row, common(alike)) if len(alike) > 1 else ""
    return f"{title(row)}, {differing}" if differing else title(row)


def in_words(row, left_out=()):
    """The parts of a name in words, without those in `left_out`."""
    return ", ".join(f"{key} {value}" for key, value in tokens(row).items() if key not in left_out)


def short(name):
    """The name without the suffix of Google Benchmark, which is the same for all rows."""
    return name.removesuffix("/process_time/real_time")
