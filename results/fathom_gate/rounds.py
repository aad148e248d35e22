"""How many more rounds of results/ab would decide an AMBIGUOUS row."""

import math

# A shift of so many half widths of its interval is significant among forty rows, too.
SIGNIFICANT = 1.65


def more_rounds(row, rule, block):
    """An estimate: the width of an interval shrinks with the square root of the number of rounds. None if unknown."""
    done, width, size = min(row.repetitions), row.shift.half_width, abs(row.shift.effect)
    # The row becomes SAME, or the shift significant, whichever takes fewer rounds.
    same = rule.same - size if rule.same - size >= rule.smallest else 0
    changed = size / SIGNIFICANT if size > rule.smallest else 0
    if not math.isfinite(width) or not (same or changed):
        return None
    needed = done * (width / max(same, changed)) ** 2
    return max(1, math.ceil((needed - done) / block)) * block
