"""Warnings at the top of a report: interference, contradictions, and differences between the files."""

import pandas as pd

from fathom_report.selection import step_names
from fathom_runs import recounted
from fathom_runs.catalogue import KEYS
from fathom_runs.context import IDENTITY_LIST, SETTINGS_LIST, is_peak
from fathom_runs.names import short
from fathom_runs.peaks import differing_peaks, low_peaks
from fathom_runs.words import disturbed_words, plural

# Fields of the context that may differ between files without a note.
MAY_DIFFER = (
    "date",
    "executable",
    "command_line",
    "load_avg",
    "mhz_per_cpu",
    "seed",
)
# Options of recording only add rows and fields.
MAY_DIFFER += ("fathom_memory", "fathom_profile", "fathom_samples", "fathom_study", "repetitions")
MAY_DIFFER += ("machine_others", "machine_steal", "machine_gpu_clock", "ranks", "ab_id", *KEYS)
MAY_DIFFER += (IDENTITY_LIST, SETTINGS_LIST)
MIN_PROFILED = 0.9  # time of a profiled step, divided by the time of the timed step


def notes(run, repeated, failed):
    """Yields the warnings. `repeated` is the number of rows in several files, `failed` the reasons of rows in none."""
    if failed:
        rows = plural(len(failed), "row")
        name, why = next(iter(failed.items()))
        yield f"{rows} failed, for example {short(name)}: {why}."
    steps, ops = disturbed(run.steps, run.rank_steps), disturbed(run.ops, run.rank_ops)
    if words := disturbed_words(steps, ops):
        yield words
    yield from short_profiles(run)
    yield from low_peaks(run.context)
    if words := recounted.sentence(run.contexts.values(), run.steps.name):
        yield words
    yield from differing_peaks(run.contexts)
    if repeated:
        rows = "1 row is" if repeated == 1 else f"{repeated} rows are"
        yield f"{rows} in several files; the value of the last file is shown."
    yield from differences(*run.contexts.values())
    tables = (run.steps, run.op_types, run.ops, run.rank_steps, run.rank_ops)
    unknown = set(run.samples.name).difference(*(table.name for table in tables))
    if unknown:
        names = f"{plural(len(unknown), 'name')} in the samples {'has' if len(unknown) == 1 else 'have'}"
        yield f"{names} no row, for example {min(unknown)}."


def disturbed(*tables):
    """Returns the number of disturbed rows, and the number for which this is known."""
    flags = [flag for table in tables for flag in table.disturbed.dropna()]
    return sum(flags), len(flags)


def short_profiles(run):
    """Yields a sentence if profiled steps are shorter than timed ones. Profiling only slows a step."""
    ratios = (
        run.op_types.us.groupby(step_names(run.op_types)).sum() / run.steps.set_index("name").us
    ).dropna()
    low = ratios[ratios < MIN_PROFILED]
    if not low.empty:
        yield (
            f"{len(low)} of {plural(len(ratios), 'profiled step')} {'is' if len(low) == 1 else 'are'} more than "
            f"{100 * (1 - MIN_PROFILED):.0f} % shorter than the timed step, for example {short(low.idxmin())} "
            f"({low.min():.2f} of it). "
            "Profiling only slows a step, so the timed step was probably disturbed."
        )


def differences(*contexts):
    """Yields a sentence for each field of the context in which the files differ."""
    for key in dict.fromkeys(key for one in contexts for key in one):
        found = [one[key] for one in contexts if key in one]
        if key in MAY_DIFFER or is_peak(key) or not all(isinstance(one, str) for one in found):
            continue
        values = dict.fromkeys(one.get(key, "none") for one in contexts)
        if len(values) > 1:
            yield f"The files differ in {key}: {', '.join(values)}."
