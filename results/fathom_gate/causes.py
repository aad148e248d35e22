"""Op types that explain the change of a step, each with its share of the change."""

from dataclasses import dataclass

from fathom_runs.names import step_of

MIN_SHARE = 0.05  # of the step's change; smaller causes are not listed
MAX_CAUSES = 5


@dataclass(frozen=True)
class Cause:
    op_type: str
    base_us: float  # microseconds per profiled step
    new_us: float
    share: float  # of the step's change
    changed: bool  # whether the row of the op type changed significantly
    half_width: float = 0.0  # of the interval of the row's own shift

    @property
    def change_us(self):
        return self.new_us - self.base_us


def causes(verdicts, base, new):
    """Causes by name of each step that changed, largest first. Steps without rows of op types have none."""
    by_name = {row.name: row for row in verdicts.rows}
    found = {row.name: [] for row in verdicts.rows if row.changed and row.kind == "step"}
    for name in dict.fromkeys([*base.times, *new.times]):
        step, op_type = step_of(name)
        if not op_type or step not in found:
            continue
        own = by_name.get(name)
        before, after = (own.base_us, own.new_us) if own else (base.us(name), new.us(name))
        share = (after - before) / (by_name[step].new_us - by_name[step].base_us)
        changed, width = (own.changed, own.shift.half_width) if own else (True, 0.0)
        found[step].append(Cause(op_type, before, after, share, changed, width))
    return {step: largest(all_causes) for step, all_causes in found.items()}


def largest(found):
    found = [cause for cause in found if cause.share >= MIN_SHARE]
    return sorted(found, key=lambda cause: (-cause.share, cause.op_type))[:MAX_CAUSES]
