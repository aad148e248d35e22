"""The page of results/report in Chromium, and the files of its figures."""

# Runs in the Python of the system.

import csv
import re
import time
import xml.etree.ElementTree

import made_up_run
import pytest
from chromium import background, browser, cells, fits, opened, overflow, prefer, size
from program import report
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a page of all figures, and the output of the command."""
    folder = tmp_path_factory.mktemp("report")
    extra = [made_up_run.row(made_up_run.op_name("<script>alert(1)</script>", "vgg", "x"), 5)]
    extra[0]["label"] = '<script>alert(2)</script> "quoted" & more'
    document = made_up_run.everything()
    document["benchmarks"] += [*extra, *made_up_run.language_model()]
    document["context"]["compiler_flags"] = "<script>alert(3)</script>"
    run = made_up_run.write(folder / "run.json", document)
    samples = made_up_run.write(folder / "steps.jsonl", made_up_run.samples())
    result = report(run, samples, "-o", folder / "report.html", "--figures", folder / "figures")
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


@pytest.fixture
def page(browser, made):
    with opened(browser, made[0] / "report.html") as shown:
        yield shown


def sections(browser):
    return browser.find_elements(By.CSS_SELECTOR, "main section:has(.plot)")


def test_all_figures_are_on_the_page(page, made):
    found = {section.get_attribute("id") for section in sections(page)}
    files = {path.stem for path in (made[0] / "figures").iterdir()}
    assert found == files and {f"fathom-{number}" for number in range(1, 7)} < found
    assert {key.split("-")[0] for key in found} == {"fathom", "tbd", "ours"}
    for section in sections(page):
        sentence = section.find_element(By.CLASS_NAME, "sentence").get_attribute("textContent")
        image = section.find_element(By.CSS_SELECTOR, ".plot > svg")
        assert sentence and image.get_attribute("aria-label") == sentence
        assert image.size["width"] > 500 and image.size["height"] > 100
        assert section.find_elements(By.TAG_NAME, "tr")
    assert not page.find_elements(By.ID, "missing")
    targets = [link.get_attribute("href") for link in page.find_elements(By.CSS_SELECTOR, "nav a")]
    tables = {"steps", "op_types", "ops", "sums", "rank_steps", "rank_ops"}
    assert {target.split("#")[1] for target in targets} == found | tables
    names = page.execute_script("return Array.from(document.querySelectorAll('[id]'), e => e.id)")
    assert len(names) == len(set(names))


def test_names_and_labels_are_escaped(page):
    assert len(page.find_elements(By.CSS_SELECTOR, "script:not(.csv)")) == 1
    assert "<script>alert(3)</script>" in page.find_element(By.TAG_NAME, "header").text
    ops = page.find_element(By.CSS_SELECTOR, "#ops table")
    texts = page.execute_script("return arguments[0].textContent", ops)
    assert '<script>alert(2)</script> "quoted" & more' in texts


def test_tables_sort(page):
    page.execute_script("document.querySelector('#steps details').open = true")
    table = page.find_element(By.CSS_SELECTOR, "#steps table")
    headings = table.find_elements(By.TAG_NAME, "th")
    (time_column,) = [index for index, one in enumerate(headings) if one.text == "µs"]
    number = headings[time_column].find_element(By.TAG_NAME, "button")
    number.click()
    times = [float(cell.replace("\u202f", "")) for cell in cells(table, time_column)]
    assert times == sorted(times, reverse=True) and len(set(times)) > 10
    assert headings[time_column].get_attribute("aria-sort") == "descending"
    number.send_keys(Keys.ENTER)
    assert headings[time_column].get_attribute("aria-sort") == "ascending"
    assert cells(table, time_column)[0] == f"{min(times):g}"
    headings[0].find_element(By.TAG_NAME, "button").click()
    assert headings[time_column].get_attribute("aria-sort") is None
    # Browsers sort punctuation by the language.
    workloads = [one for one in cells(table, 0) if "context" not in one]
    assert workloads == sorted(workloads) and workloads[0] == "alexnet"


def test_search_shows_rows_with_all_words(page):
    box = page.find_element(By.CSS_SELECTOR, "#ops input")
    box.send_keys("vgg ONEDNN cold")
    rows = page.find_elements(By.CSS_SELECTOR, "#ops tbody tr:not([hidden])")
    assert rows and all(re.search(r"vgg.*cold.*onednn", row.text) for row in rows)
    shown, of, whole, _ = page.find_element(By.CSS_SELECTOR, "#ops output").text.split()
    assert int(shown) == len(rows) < int(whole) and of == "of"
    box.clear()
    box.send_keys("no such row")
    assert not page.find_elements(By.CSS_SELECTOR, "#ops tbody tr:not([hidden])")


@pytest.mark.parametrize("way", ["click", "Enter", "button"])
def test_figures_enlarge(page, way):
    section = sections(page)[1]
    plot = section.find_element(By.CLASS_NAME, "plot")
    if way == "click":
        plot.click()
    elif way == "Enter":
        plot.send_keys(Keys.ENTER)
    else:
        section.find_element(By.CSS_SELECTOR, "[data-enlarge]").click()
    dialog = page.find_element(By.TAG_NAME, "dialog")
    assert dialog.is_displayed() and dialog.size["width"] == 1280
    image = dialog.find_element(By.TAG_NAME, "svg")
    assert image.size["width"] > 1200 > plot.size["width"]
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not dialog.is_displayed() and not dialog.find_elements(By.TAG_NAME, "svg")


def test_dark_and_light(page):
    colours = {}
    for scheme in ("light", "dark"):
        prefer(page, scheme)
        colours[scheme] = background(page)
    assert colours["light"] != colours["dark"]
    ink = "return getComputedStyle(document.querySelector('.plot svg')).color"
    dark_ink = page.execute_script(ink)
    button = page.find_element(By.ID, "theme")
    assert button.text == "Light"
    button.click()
    assert background(page) == colours["light"] and button.text == "Dark"
    assert page.execute_script(ink) != dark_ink
    page.refresh()
    assert background(page) == colours["light"]
    button = page.find_element(By.ID, "theme")
    button.click()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.execute_script(ink) != dark_ink  # printing uses the light theme
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    page.execute_script("localStorage.clear()")
    page.get_log("performance")  # the reload above
    page.refresh()


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_horizontal_scroll(page, width):
    size(page, width, 844)
    page.refresh()
    assert fits(page, width)
    page.find_element(By.CSS_SELECTOR, "[data-enlarge]").click()
    assert overflow(page, "querySelector('dialog')") == 0
    page.get_log("performance")
    page.refresh()


def test_saved_files_equal_written_files(page, made, tmp_path):
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", folder)
    section = page.find_element(By.ID, "fathom-2")
    for kind in ("csv", "svg", "png"):
        section.find_element(By.CSS_SELECTOR, f"[data-save={kind}]").click()
        file = tmp_path / f"fathom-2.{kind}"
        until = time.monotonic() + 20
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert file.exists(), kind
    assert (tmp_path / "fathom-2.csv").read_text() == (made[0] / "figures/fathom-2.csv").read_text()
    root = xml.etree.ElementTree.parse(tmp_path / "fathom-2.svg").getroot()
    assert root.tag.endswith("}svg")
    png = (tmp_path / "fathom-2.png").read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20], "big") == 1600


def test_every_figure_has_files(made):
    files = sorted((made[0] / "figures").iterdir())
    keys = {file.stem for file in files}
    assert [file.name for file in files] == [
        f"{key}.{kind}" for key in sorted(keys) for kind in ("csv", "png", "svg")
    ]
    for file in files:
        if file.suffix == ".csv":
            head, *rows = csv.reader(file.read_text().splitlines())
            assert rows and all(len(row) == len(head) for row in rows)
        elif file.suffix == ".svg":
            assert xml.etree.ElementTree.parse(file).getroot().get("width")
        else:
            assert file.read_bytes().startswith(b"\x89PNG")


def test_the_same_input_gives_the_same_bytes(made, tmp_path):
    folder, printed = made
    page, figures = tmp_path / "report.html", tmp_path / "figures"
    result = report(folder / "run.json", folder / "steps.jsonl", "-o", page, "--figures", figures)
    assert result.stdout == printed.replace(str(folder), str(tmp_path))
    assert page.read_bytes() == (folder / "report.html").read_bytes()
    for file in figures.iterdir():
        assert file.read_bytes() == (folder / "figures" / file.name).read_bytes(), file.name
