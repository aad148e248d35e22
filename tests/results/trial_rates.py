"""Rates that trials found, with their bounds, and the tables that scripts of trials write into pages."""

import re
from dataclasses import dataclass

from scipy.stats import beta

from fathom_runs import markdown

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Rate:
    """A share of trials with its exact binomial bounds (Clopper and Pearson, Biometrika 26, 1934)."""

    hits: int
    trials: int

    @property
    def share(self):
        return self.hits / self.trials

    @property
    def low(self):
        tail = (1 - CONFIDENCE) / 2
        return float(beta.ppf(tail, self.hits, self.trials - self.hits + 1)) if self.hits else 0.0

    @property
    def high(self):
        missed = self.trials - self.hits
        tail = (1 + CONFIDENCE) / 2
        return float(beta.ppf(tail, self.hits + 1, missed)) if missed else 1.0

    def may_be_at_most(self, limit):
        """False if the rate is above the limit, not by chance: for tests with few trials."""
        return self.low <= limit

    def may_be_at_least(self, limit):
        return self.high >= limit

    def __str__(self):
        """`1.2 % (0.6 to 2.1)`"""
        return f"{percent(self.share)} % ({percent(self.low)} to {percent(self.high)})"


def percent(share):
    return f"{100 * share:.{0 if share >= 0.0995 else 1}f}"


def rate(flags):
    """The rate of a list or array of truth values, one per trial."""
    return Rate(int(sum(flags)), len(flags))


def table(header, rows):
    """A table of Markdown. The first column is left-aligned, the others to the right."""
    return markdown.table(header, rows, header[1:])


def pattern(name):
    """Matches what is between the comments `<!-- NAME: from SCRIPT -->` and `<!-- end of NAME -->` of a page."""
    return re.compile(
        rf"(<!-- {re.escape(name)}: .* -->\n)(.*?)(<!-- end of {re.escape(name)} -->)", re.S
    )


def held(page, name):
    """The text that a page (a path) holds between the comments of a name."""
    return pattern(name).search(page.read_text(encoding="utf-8"))[2]


def write(page, name, text):
    """Replaces the text between the comments of a name in a page (a path)."""
    found = page.read_text(encoding="utf-8")
    if not pattern(name).search(found):
        raise ValueError(
            f"{page}: no comments <!-- {name}: from ... --> and <!-- end of {name} -->"
        )
    made = pattern(name).sub(lambda match: f"{match[1]}{text}{match[3]}", found)
    page.write_text(made, encoding="utf-8")
