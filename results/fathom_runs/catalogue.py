"""Op types and workloads, as the context of a file lists them. Python has no list of its own."""

from collections import Counter
from dataclasses import dataclass, field

from fathom_runs.names import CONTEXT
from fathom_runs.source import RunError

FRAMEWORK = "framework"  # class of the time between ops, of views and of reshapes
KEYS = ("op_classes", "default_batches", "variant_of")  # fields of the context


@dataclass(frozen=True)
class Catalogue:
    op_classes: dict[str, str] = field(default_factory=dict)  # class by op type
    # Batch size by `<workload>/<mode>`.
    default_batches: dict[str, int] = field(default_factory=dict)
    variant_of: dict[str, str] = field(default_factory=dict)  # workload by variant

    def base(self, workload):
        """The workload that this one is a variant of, or this one."""
        plain = workload.partition(CONTEXT)[0]
        return self.variant_of.get(plain, plain)

    def without_variants(self, workloads):
        """The distinct workloads without variants. If a workload is missing, its first variant replaces it."""
        names = list(dict.fromkeys(workloads))
        chosen = {self.base(name): name for name in reversed(names)}
        chosen |= {name: name for name in names if name == self.base(name)}
        return list(chosen.values())

    def usual_batch(self, workload, mode, batches):
        """The most frequent of the batch sizes, of several the nearest to the default."""
        counts = Counter(batches)
        wish = self.default_batches.get(f"{workload}/{mode}", 0)
        return min(counts, key=lambda batch: (-counts[batch], abs(batch - wish), batch))

    def __or__(self, other):
        """Merges two catalogues. Entries of `other` replace equal keys."""
        return Catalogue(*(getattr(self, key) | getattr(other, key) for key in KEYS))


def catalogue_of(path, context):
    """The catalogue of a context. Raises RunError if a field is missing or malformed."""
    missing = [key for key in KEYS if key not in context]
    if missing:
        raise RunError(
            f"{path}: no {', '.join(missing)} in its context, expected a file of fathom_bench 0.1.0 or newer; "
            "the command_line in its context makes it anew"
        )
    op_classes, batches, variant_of = (pairs(path, key, context[key]) for key in KEYS)
    for name, batch in batches.items():
        if not batch.isdecimal():
            raise RunError(f"{path}: default_batches has {name}:{batch}, expected a number")
    return Catalogue(op_classes, {name: int(batch) for name, batch in batches.items()}, variant_of)


def pairs(path, key, text):
    """Parses `a:b c:d` into a dictionary."""
    words = [word.partition(":") for word in str(text).split()]
    for name, colon, value in words:
        if not (name and colon and value):
            raise RunError(
                f"{path}: {key} has {(name + colon + value)[:40]!r}, expected words like name:value"
            )
    return {name: value for name, _, value in words}
