"""Facts about the machine and the run, for the top of the page."""

from fathom_page.machine import CARDS, peaks, text


def facts(run):
    """Numbers of rows, version of LibTorch, commit and date."""
    context = run.context
    found = [f"{len(run.steps)} steps", f"{len(run.ops)} op rows"]
    if len(run.rank_steps) + len(run.rank_ops):
        found.append(f"{len(run.rank_steps)} steps and {len(run.rank_ops)} op rows with ranks")
    if context.get("libtorch"):
        found.append(f"LibTorch {context['libtorch']}")
    if context.get("git_commit"):
        found.append(f"commit {context['git_commit'][:10]}")
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
