"""Numbers and names as sentences say them."""


def plural(count, noun, nouns=None):
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def listed(names, most=None):
    """`a`, `a and b`, `a, b and c`; those beyond `most` are counted."""
    names = [str(name) for name in names]
    if most and len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} others"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def time_words(us):
    """A time in the unit that one would say."""
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{us / size:.3g} {unit}"
    return f"{us:.3g} µs"


def percent(value):
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.1f} %"


def times(value):
    return f"{value:.3g} times"


def ranged(values, words=percent):
    """`2 (a) to 9 (b)` of a series by name; one value where all would be written alike."""
    values = values.sort_values(kind="stable")
    first, last = words(values.iloc[0]), words(values.iloc[-1])
    if len(values) == 1:
        return f"{first} ({values.index[0]})"
    if first == last:
        return f"{first} ({'both' if len(values) == 2 else f'all {len(values)}'})"
    return f"{first} ({values.index[0]}) to {last} ({values.index[-1]})"
