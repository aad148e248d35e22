"""Which rows are disturbed: others took time from them, so their times may be too long."""

from fathom_runs.entries import MICROSECONDS
from fathom_runs.names import tokens

SHARE = 0.05  # of a repetition's time; benchmarks/measure/disturbed.cc has the same rule
TAKEN = ("stolen_us", "waiting_us")  # of all threads
STANDSTILL = "standstill_us"  # of the process; only where it was long


def is_disturbed(entry):
    """Whether others took more than 5 % of the time from each thread, or time from half of the steps. None if unknown."""
    found = [flag for flag in (lost_share(entry), hit_steps(entry)) if flag is not None]
    return any(found) if found else None


def lost_share(entry):
    if not any(key in entry for key in (*TAKEN, STANDSTILL)):
        return None
    threads = tokens(entry["run_name"]).get("threads", "1")
    taken = sum(entry.get(key, 0) for key in TAKEN) / max(
        1, int(threads) if threads.isdecimal() else 1
    )
    us = MICROSECONDS[entry["time_unit"]] * entry["real_time"]
    return taken + entry.get(STANDSTILL, 0) > SHARE * us


def hit_steps(entry):
    """None of an aggregate, whose `iterations` are repetitions."""
    if "disturbed_steps" not in entry or entry.get("run_type") == "aggregate":
        return None
    return entry["disturbed_steps"] >= entry["iterations"] / 2 > 0
