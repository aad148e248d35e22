"""Pages of lines and tables, as text for a terminal and as Markdown."""

from dataclasses import dataclass

from fathom_runs.markdown import plain, table


WIDTH, SHORTEST = 100, 12  # columns of a terminal, and of a shortened name


@dataclass(frozen=True)
class Table:
    """Columns named in `numbers` are aligned to the right."""

    heads: list[str]
    rows: list[list[str]]
    numbers: tuple[str, ...] = ()


def as_text(blocks):
    """Lines, and tables with an empty line before each other table."""
    lines = []
    for last, block in zip([None, *blocks], blocks):
        lines += [""] if isinstance(last, Table) and isinstance(block, Table) else []
        lines += text_lines(block)
    return "\n".join(lines) + "\n"


def text_lines(block):
    """Of a table at most WIDTH columns wide: of the first column, the middle of long words is left out."""
    if isinstance(block, str):
        return [block]
    columns = list(zip(block.heads, *block.rows))
    widths = [max(map(len, column)) for column in columns]
    most = max(widths[0] - max(sum(widths) + 2 * (len(widths) - 1) - WIDTH, 0), SHORTEST)
    rows = [[shortened(row[0], most), *row[1:]] for row in (block.heads, *block.rows)]
    widths[0] = min(widths[0], most)
    return [
        "  ".join(
            cell.rjust(width) if head in block.numbers else cell.ljust(width)
            for cell, width, head in zip(row, widths, block.heads)
        ).rstrip()
        for row in rows
    ]


def shortened(text, most):
    end = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


def as_markdown(blocks):
    """Lines become items of a list."""
    return "\n".join(map(markdown, blocks))


def markdown(block):
    if isinstance(block, str):
        return f"- {plain(block)}\n"
    return table(block.heads, [map(plain, row) for row in block.rows], block.numbers)
