"""Made-up runs of two machines with known speed-ups, and the content of their pages."""

import csv
import html
import json
import re

import made_up_run
from made_up_rows import RATES
from program import compare

OTHER = {"cpu": "Other CPU", "num_cpus": 8}


def document(speed=1, repetitions=None, **options):
    """A run on a machine that is `speed` times as fast as made_up_run's; a function gets the name of a row.

    `repetitions` are factors on the times. `options` go to made_up_run.document.
    """
    options = {"workloads": ("alexnet", "vgg", "memnet")} | options
    made = made_up_run.document(**options)
    rows = [
        faster(row, speed(row["run_name"]) if callable(speed) else speed)
        for row in made["benchmarks"]
    ]
    if repetitions:
        rows = list(made_up_run.repeated(rows, repetitions))
    return made | {"benchmarks": rows}


def faster(row, speed):
    times = {key: value / speed for key, value in row.items() if is_time(key)}
    return row | times | {key: row[key] * speed for key in RATES if key in row}


def is_time(key):
    return key in ("real_time", "cpu_time") or key.endswith("_us")


def write(folder, **documents):
    """Writes one file per document. Returns their paths."""
    return [made_up_run.write(folder / f"{name}.json", made) for name, made in documents.items()]


def shown(*arguments, page):
    """Runs results/compare. Returns the process and the page."""
    result = compare(*arguments, "-o", page)
    assert result.returncode == 0, result.stderr
    return result, page.read_text()


def rows(page, key):
    """The CSV of a table or figure on a page, as dictionaries."""
    section = re.search(rf'<section id="{key}">.*?</section>', page, re.DOTALL)[0]
    text = json.loads(re.search(r'class="csv">(.*?)</script>', section, re.DOTALL)[1])
    return list(csv.DictReader(text.splitlines()))


def row(page, key, **values):
    """The only row of a table with these values."""
    (found,) = [
        one for one in rows(page, key) if all(one[name] == value for name, value in values.items())
    ]
    return found


def notes(page):
    (block,) = re.findall('<ul class="notes">(.*?)</ul>', page, re.DOTALL) or [""]
    return [html.unescape(line) for line in re.findall("<li>(.*?)</li>", block)]


def sentences(page):
    block = re.search('<section id="short">(.*?)</section>', page, re.DOTALL)[1]
    lines = re.findall("<li>(.*?)</li>", block)
    return [html.unescape(re.sub("<.*?>", "", line)).replace("\u00a0", " ") for line in lines]
