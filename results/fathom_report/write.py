"""Draws the figures of a run, writes the page and the files of the figures."""

from fathom_page import render
from fathom_page.figure import Figure
from fathom_page.table import csv
from fathom_report import page
from fathom_report.figures import figures
from fathom_runs.output import make_folder, replace


def report(run, path, folder=None):
    """Writes the page, and the files of figures if there is a folder. Returns the figures and the missing ones."""
    found = figures(run)
    shown = [one for one in found if isinstance(one, Figure)]
    missing = [one for one in found if not isinstance(one, Figure)]
    canvases = {figure.key: render.drawn(figure) for figure in shown}
    images = {key: render.svg(canvas, key) for key, canvas in canvases.items()}
    if folder:
        make_folder(folder)
        write_files(folder, shown, canvases, images)
    replace(path, page.page(run, shown, missing, images))
    return shown, missing


def write_files(folder, figures, canvases, images):
    """Writes SVG, CSV and PNG of each figure."""
    for figure in figures:
        start, canvas = folder / figure.key, canvases[figure.key]
        replace(start.with_suffix(".svg"), render.svg_file(images[figure.key]))
        replace(start.with_suffix(".csv"), csv(figure.data))
        replace(start.with_suffix(".png"), render.png(canvas))
