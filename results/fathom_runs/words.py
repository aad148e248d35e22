"""Formats numbers and names for sentences."""

BEYOND = 300  # percent of a measured peak; a larger share is not printed as a number


def one_line(text):
    """The text without line breaks."""
    return " ".join(filter(None, map(str.strip, str(text).splitlines())))


def plural(count, noun, nouns=None):
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def listed(names, most=None):
    """`a`, `a and b`, `a, b and c`. Names beyond `most` are only counted."""
    names = [str(name) for name in names]
    if most and len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} others"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def time_words(us):
    """A time with three digits, in s, ms or µs."""
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{us / size:.3g} {unit}"
    return f"{us:.3g} µs"


def size_words(size):
    """A number of bytes with three digits, in GB, MB or kB."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1e3:.3g} kB"


def percent(value):
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.1f} %"


def of_peak(value):
    """A share of a measured peak. What is far above it says that the peak is wrong, not how far the row is."""
    return f"more than {BEYOND} %" if value > BEYOND else percent(value)


def factor(value):
    return f"{value:.3g}"


def disturbed_words(steps, ops=(0, 0)):
    """A sentence about disturbed steps and ops: (disturbed, known) each. Empty if there are none."""
    parts = [
        f"{count} of {plural(known, noun)}"
        for (count, known), noun in ((steps, "step"), (ops, "op"))
        if count
    ]
    if not parts:
        return ""
    return (
        f"{listed(parts)} {'was' if steps[0] + ops[0] == 1 else 'were'} disturbed: others took over 5 % of the time of "
        "each thread, or time from half of the steps (stolen_us, waiting_us, standstill_us, disturbed_steps). These "
        "times may be too long."
    )


def ranged(values, words=percent):
    """The range of a series as `2 (a) to 9 (b)`. If all values look the same, one value."""
    values = values.sort_values(kind="stable")
    first, last = words(values.iloc[0]), words(values.iloc[-1])
    if len(values) == 1:
        return f"{first} ({values.index[0]})"
    if first == last:
        return f"{first} ({'both' if len(values) == 2 else f'all {len(values)}'})"
    return f"{first} ({values.index[0]}) to {last} ({values.index[-1]})"
