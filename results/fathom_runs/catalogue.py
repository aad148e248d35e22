"""What a file of fathom_bench says of op types and workloads, so that no list of them stands in Python."""

from dataclasses import dataclass, field

from fathom_runs.source import RunError

FRAMEWORK = "framework"  # the class of time that no op takes
KEYS = ("op_classes", "default_batches", "variant_of")  # entries of the context


@dataclass(frozen=True)
class Catalogue:
    op_classes: dict[str, str] = field(default_factory=dict)  # by op type
    default_batches: dict[str, int] = field(default_factory=dict)  # by `<workload>/<mode>`
    variant_of: dict[str, str] = field(default_factory=dict)  # by workload, only of variants

    def base(self, workload):
        """The workload of which this one is a variant, else itself."""
        return self.variant_of.get(workload, workload)

    def __or__(self, other):
        """Both; where they differ, `other` counts."""
        return Catalogue(*(getattr(self, key) | getattr(other, key) for key in KEYS))


def catalogue_of(path, context):
    """Throws RunError where an entry is missing, as in files of older programs, or unreadable."""
    missing = [key for key in KEYS if key not in context]
    if missing:
        raise RunError(
            f"{path}: no {', '.join(missing)} in its context, expected a file of this version; "
            f"results/convert_run.py {path} adds them"
        )
    op_classes, batches, variant_of = (pairs(path, key, context[key]) for key in KEYS)
    for name, batch in batches.items():
        if not batch.isdecimal():
            raise RunError(f"{path}: default_batches has {name}:{batch}, expected a number")
    return Catalogue(op_classes, {name: int(batch) for name, batch in batches.items()}, variant_of)


def pairs(path, key, text):
    """`a:b c:d` as a dictionary."""
    words = [word.partition(":") for word in str(text).split()]
    for name, colon, value in words:
        if not (name and colon and value):
            raise RunError(
                f"{path}: {key} has {(name + colon + value)[:40]!r}, expected words as name:value"
            )
    return {name: value for name, _, value in words}
