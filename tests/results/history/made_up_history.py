"""Folders of made-up runs, one per day, with noise, changes and outliers as the tests ask."""

import datetime
import html
import random
import re

import made_up_run
from program import history

SUFFIX = "/process_time/real_time"
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def run(day, factor=None, noise=0.01, repetitions=None, **options):
    """The document of a day. `factor(name, day)` multiplies the time of a row in made_up_run.

    The time of a step with op types is their sum. `repetitions` are factors. `options` go to made_up_run.document.
    """
    options = {"workloads": ("alexnet",), "modes": ("train",), "op_rows": False} | options
    options = {"date": date(day), "git_commit": commit(day)} | options
    document = made_up_run.document(**options)
    rows = {row["run_name"].removesuffix(SUFFIX): dict(row) for row in document["benchmarks"]}
    for name, row in rows.items():
        row["real_time"] *= (factor(name, day) if factor else 1) * noisy(f"{name} {day}", noise)
    for name, row in rows.items():
        inside = [
            one["real_time"] for other, one in rows.items() if other.startswith(f"{name}/op:")
        ]
        row["real_time"] = sum(inside) or row["real_time"]
    rows = list(rows.values())
    if repetitions:
        rows = list(made_up_run.repeated(rows, repetitions))
    return document | {"benchmarks": rows}


def date(day):
    return (START + datetime.timedelta(day)).isoformat()


def commit(day):
    return f"{(day + 1) * 0x9E3779B1 % 2**32:08x}" + 32 * "0"


def noisy(key, noise):
    """A factor around 1 that depends only on the key."""
    return 1 + noise * random.Random(key).gauss(0, 1)


def write(folder, days, factor=None, context=None, **options):
    """Writes one file per day. `context(day)` returns fields of its context. Returns the folder."""
    folder.mkdir(exist_ok=True)
    for day in range(days):
        more = context(day) if context else {}
        document = run(day, factor, **options, **more)
        made_up_run.write(folder / file(day), document)
    return folder


def file(day):
    """A file name; the order of names differs from the order of days."""
    return f"{7 * day % 97:02}.json"


def shown(folder, page, *arguments):
    """Runs results/history. Returns the process and the page."""
    result = history(folder, "-o", page, *arguments)
    assert result.returncode == 0, result.stderr
    return result, page.read_text()


def words(markup):
    return html.unescape(re.sub("<.*?>", "", markup)).replace("\u00a0", " ")


def sentences(page, signs="slower|faster"):
    """Pairs of row and sentence for each change on the page, newest first. The sign `profile` finds changed profiles."""
    latest = re.search(r'<section id="latest.*?</section>', page, re.DOTALL)[0]
    lines = re.findall(rf'<li class="(?:{signs})">(.*?)</li>', latest)
    return [words(line).split(" ", 1) for line in lines]
