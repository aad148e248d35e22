"""The page of results/compare in Chromium."""

# Runs in the Python of the system.

import made_up_run
import pytest
from chromium import browser, cells, enlarged_width, fits, opened, schemes
from made_up_pair import OTHER, document, shown, write
from selenium.webdriver.common.by import By

FIGURES = ["speedup", "optypes", "shares", "headroom", "opshares", "roofs"]
SPEEDS = dict(zip(made_up_run.PROFILES, (0.8, 1.5, 2, 2.5, 4)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A page of three machines, two of them with repetitions."""
    folder = tmp_path_factory.mktemp("compare")
    options = {"workloads": tuple(made_up_run.PROFILES), "threads": (1, 2)}
    repeated = options | {"repetitions": made_up_run.REPETITIONS}
    files = write(
        folder,
        a=document(**repeated),
        b=document(
            lambda name: SPEEDS[name.split("/")[2 if name[:3] == "op/" else 0]], **repeated, **OTHER
        ),
        c=document(2, cpu="A third CPU with a long name of sixty-four cores @ 2.10GHz", **options),
    )
    shown(*files, page=folder / "page.html")
    return folder / "page.html"


@pytest.fixture
def page(browser, made):
    with opened(browser, made) as shown_page:
        yield shown_page


def figures(page):
    return page.find_elements(By.CSS_SELECTOR, "main section:has(.plot)")


def test_every_pair_has_all_figures(page):
    found = [section.get_attribute("id") for section in figures(page)]
    assert found == FIGURES + [f"{key}-C" for key in FIGURES]
    for section in figures(page):
        sentence = section.find_element(By.CLASS_NAME, "sentence").get_attribute("textContent")
        image = section.find_element(By.CSS_SELECTOR, ".plot > svg")
        assert sentence.endswith(".") and image.get_attribute("aria-label") == sentence
        assert "nan" not in sentence


def test_the_answer_comes_first(page):
    first, second = page.find_elements(By.CSS_SELECTOR, "main section")[:2]
    assert (first.get_attribute("id"), second.get_attribute("id")) == ("short", "machines")
    assert "Training, CPU, 1 thread: B is 1.89 times as fast as A" in first.text


def test_every_link_has_one_target(page):
    links = page.find_elements(By.CSS_SELECTOR, "nav a")
    names = page.execute_script("return Array.from(document.querySelectorAll('[id]'), e => e.id)")
    assert len(names) == len(set(names))
    assert {link.get_attribute("href").split("#")[1] for link in links} <= set(names)


def test_steps_with_repetitions_have_whiskers(page):
    """The points of B have lines, those of C have none."""
    strokes = "return document.querySelectorAll(`#${arguments[0]} svg [style*='#0072b2']`).length"
    assert page.execute_script(strokes, "speedup") > page.execute_script(strokes, "speedup-C") + 5


def test_steps_sort_by_speed_up(page):
    table = page.find_element(By.CSS_SELECTOR, "#steps table")
    headings = [heading.text for heading in table.find_elements(By.TAG_NAME, "th")]
    place = next(n for n, text in enumerate(headings) if text.startswith("speed-up"))
    table.find_elements(By.TAG_NAME, "th")[place].find_element(By.TAG_NAME, "button").click()
    found = [float(cell) for cell in cells(table, place)]
    assert found == sorted(found, reverse=True) and (found[0], found[-1]) == (4, 0.8)


def test_ops_can_be_searched(page):
    section = page.find_element(By.ID, "oprows")
    section.find_element(By.TAG_NAME, "input").send_keys("conv2d VGG onednn")
    rows = section.find_elements(By.CSS_SELECTOR, "tbody tr:not([hidden])")
    assert len(rows) == 4 and all("conv2d" in row.text and "vgg" in row.text for row in rows)


def test_headings_have_units(page):
    heads = page.find_element(By.CSS_SELECTOR, "#steps thead").text
    assert "A, µs" in heads.replace("\n", " ") and "B, % of peak FLOP/s" in heads.replace("\n", " ")


def test_figures_enlarge(page):
    assert enlarged_width(page, figures(page)[0]) > 1000


def test_dark_and_light(page):
    for light, dark in zip(*schemes(page, ".plot svg", "color")):
        assert light != dark


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_horizontal_scroll_and_visible_figures(page, width):
    assert fits(page, width)
    for section in figures(page):
        image = section.find_element(By.CSS_SELECTOR, ".plot > svg")
        assert image.is_displayed() and image.size["width"] > 500 and image.size["height"] > 150
        plot = section.find_element(By.CLASS_NAME, "plot")
        assert 250 < plot.size["width"] < width, "a wide figure scrolls in its own box"
