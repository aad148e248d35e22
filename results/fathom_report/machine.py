"""Facts about the machine and the run, for the top of the page."""

from fathom_page.machine import CARDS, peaks, text
from fathom_runs.words import plural


def facts(run):
    """Numbers of rows, version of LibTorch, commit and date."""
    context = run.context
    found = [plural(len(run.steps), "step"), plural(len(run.ops), "op row")]
    if len(run.rank_steps) + len(run.rank_ops):
        steps, ops = plural(len(run.rank_steps), "step"), plural(len(run.rank_ops), "op row")
        found.append(f"{steps} and {ops} with ranks")
    if context.get("libtorch"):
        found.append(f"LibTorch {context['libtorch']}")
    if context.get("git_commit"):
        found.append(f"commit {str(context['git_commit'])[:10]}")
    if context.get("date"):
        found.append(str(context["date"])[:10])
    return found


def cards(run):
    """The cards at the top: a heading, and pairs of name and text."""
    context = run.context
    for heading, names in CARDS.items():
        pairs = [(name, text(key, context[key])) for key, name in names.items() if key in context]
        yield heading, [pair for pair in pairs if pair[1]]
    yield "Measured peaks", peaks(context)


def commands(run):
    """Date and command line of each file."""
    return [
        (str(one.get("date", "no date")), str(one.get("command_line", "")))
        for one in run.contexts.values()
    ]
