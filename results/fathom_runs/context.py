"""Fields of the context: date, machine, settings and peaks."""

import re
from datetime import datetime, timezone

from fathom_runs.source import EXPECTED, RunError
from fathom_runs.words import plural

UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# The program lists in each file which fields name the machine, and which are settings and versions that can change times
# while the code stays the same. Files without these lists, of other programs, have the fields below.
IDENTITY_LIST, SETTINGS_LIST = "machine_identity", "settings"
MACHINE = ("cpu", "gpu", "num_cpus", "caches", "cpu_capability")
SETTINGS = ("cpu_scaling_enabled", "fathom_version", "libtorch")


def date_of(path, context):
    """Start of the run. A date without time zone is read as UTC. Raises RunError."""
    text = str(context.get("date", "none"))
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise RunError(
            f"{path}: date is {text[:40]!r}, expected one like 2026-01-31T12:00:00+00:00, {EXPECTED}"
        ) from error


def identity(context):
    """The fields that name the machine. The host name is not among them, because it differs between containers."""
    return listed_in(context, IDENTITY_LIST, MACHINE)


def settings(context):
    """The fields that can change times while the code stays the same."""
    return listed_in(context, SETTINGS_LIST, SETTINGS)


def listed_in(context, key, fallback):
    lists = {one: str(context.get(one, "")).split() for one in (IDENTITY_LIST, SETTINGS_LIST)}
    return tuple(lists[key]) if all(lists.values()) else fallback


def differing_settings(one, other):
    """The settings of either file that differ. A field that one of the programs did not know is left out."""
    known = set(identity(one) + settings(one)) & set(identity(other) + settings(other))
    keys = dict.fromkeys(settings(one) + settings(other))
    return [key for key in keys if key in known and one.get(key) != other.get(key)]


def other_machine(one, other):
    """The first field that says that two contexts are from different machines. None if they may be of one."""
    keys = [key for key in identity(one) if key in identity(other)]
    return next((key for key in keys if one.get(key) != other.get(key)), None)


def by_machine(contexts):
    """Groups the keys of a dictionary of contexts by machine. A file that fits several machines, because it lists fewer fields, is of the last."""
    groups = []
    for key, context in contexts.items():
        own = {one: context.get(one) for one in identity(context)}
        fitting = [
            known
            for known, _ in groups
            if all(own[one] == known[one] for one in own.keys() & known)
        ]
        known = fitting[-1] if fitting else {}
        if not fitting:
            groups.append((known, []))
        next(keys for one, keys in groups if one is known).append(key)
        known |= own
    return [keys for _, keys in groups]


def same_machine(path, context, other_path, other):
    """Raises RunError if two files are from different machines. The message begins with the first path."""
    key = other_machine(context, other)
    if key:
        found, expected = (words(key, one.get(key, "none")) for one in (context, other))
        raise RunError(
            f"{path}: {key} is {found}, in {other_path} it is {expected}; expected files of one machine"
        )


def title(context):
    """Name of the machine: its own, or its GPU and CPU, or its host name."""
    parts = [str(context[key]) for key in ("gpu", "cpu") if context.get(key)]
    hardware = " and ".join(parts) or str(context.get("host_name", "Unnamed machine"))
    own = context.get("machine_name")
    return f"{own} ({hardware})" if own else hardware


def described(context):
    """The title with the numbers that tell CPUs of one name apart, if they were recorded."""
    numbers = {key: context.get(f"cpu_{key}") for key in ("family", "model", "stepping")}
    known = " ".join(f"{key} {value}" for key, value in numbers.items() if value)
    return title(context) + (f" ({known})" if known else "")


def titles(contexts):
    """Names of machines with their numbers of CPUs. Equal names get the first field in which these machines differ."""
    names = [title(one) + cpu_count(one) for one in contexts]
    for name in {name for name in names if names.count(name) > 1}:
        places = [place for place, one in enumerate(names) if one == name]
        for key in identity(contexts[places[0]]):
            found = [words(key, contexts[place].get(key, "none")) for place in places]
            if len(set(found)) > 1:
                for place, value in zip(places, found):
                    names[place] += f", {key} {value}" if key != "caches" else f", {value}"
                break
    return names


def cpu_count(context):
    count = context.get("num_cpus")
    return f", {plural(count, 'CPU')}" if count else ""


def words(key, value):
    """The value of a field in a sentence."""
    if key == "caches":
        try:
            return caches(value).replace("\u00a0", " ")
        except (KeyError, TypeError):
            pass  # a future Google Benchmark may write other fields
    return str(value)


def caches(sizes):
    """Sizes of the data caches, as "L1 32 KiB, L2 1 MiB"."""
    found = []
    for cache in sizes:
        if cache["type"] != "Instruction":
            kib = cache["size"] / 1024
            size = f"{kib / 1024:g}\u00a0MiB" if kib >= 1024 else f"{kib:g}\u00a0KiB"
            found.append(f"L{cache['level']}\u00a0{size}")
    return ", ".join(found)


def is_peak(key):
    """Whether a field of the context is a measured peak."""
    return key.startswith("peak_")


def peaks(context):
    """The fields of the context that are measured peaks."""
    return {key: value for key, value in context.items() if is_peak(key)}


def rate(text):
    """Parses the rate of a peak, such as `118.2 GFLOP/s, oneDNN GEMM`. None if it has another form."""
    found = re.match(r"([\d.e+]+) ([kMGT]?)(?:FLOP|B)/s", str(text))
    return float(found[1]) * UNITS[found[2]] if found else None
