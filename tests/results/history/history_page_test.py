"""The page of results/history in Chromium."""

# Runs in the Python of the system.

import json
import re

import made_up_history as made_up
import made_up_run
import pytest
from chromium import browser, cells, enlarged_width, fits, opened, schemes, size
from program import history
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

DAYS = 20
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A page of five workloads. Two change, one has another profile, and the name of a library is markup."""
    folder = tmp_path_factory.mktemp("history")

    def factor(row, day):
        if row.startswith("seq2seq/") and day >= 12:  # 7 ms - 0.6 ms, 2 ms + 0.6 ms
            return 0.914 if "op:lstm_cell" in row else 1.3 if "op:matmul" in row else 1
        return (
            1.3
            if row.startswith(("vgg/", "op/conv2d/vgg/")) and day >= 12
            else (0.8 if row.startswith("memnet/") and day >= 6 else 1)
        )

    made_up.write(
        folder / "runs",
        DAYS,
        factor,
        lambda day: {"libtorch": SCRIPT if day >= 6 else "2.11.0"},
        workloads=tuple(made_up_run.PROFILES),
        op_rows=True,
        repetitions=(0.99, 1, 1.02),
    )
    result = history(folder / "runs", "-o", folder / "history.html")
    assert result.returncode == 0, result.stderr
    return folder / "history.html"


@pytest.fixture
def page(browser, made):
    with opened(browser, made) as shown:
        yield shown


def cards(page):
    return page.find_elements(By.CSS_SELECTOR, ".grid > section")


def card(page, workload):
    (found,) = [one for one in cards(page) if one.get_attribute("data-name").startswith(workload)]
    return found


def test_every_step_has_a_trend_with_its_op_types(page):
    found = [one.get_attribute("data-name") for one in cards(page)]
    assert found == [made_up_run.step_name(workload) for workload in made_up_run.PROFILES]
    for one in cards(page):
        image = one.find_element(By.CSS_SELECTOR, ".plot > svg")
        assert image.size["width"] > 350 and image.size["height"] > 150
        assert image.get_attribute("aria-label") == one.find_element(
            By.CLASS_NAME, "sentence"
        ).text.replace("\u00a0", " ")
        texts = [text.text for text in image.find_elements(By.TAG_NAME, "text")]
        assert "A" in texts and "framework" in texts and "2026-01-20" in texts


def test_changes_come_first(page):
    first, second = page.find_elements(By.CSS_SELECTOR, "main section")[:2]
    assert (first.get_attribute("id"), second.get_attribute("id")) == ("latest", "changes")
    days = [heading.text for heading in first.find_elements(By.TAG_NAME, "h3")]
    assert days == sorted(days, reverse=True)
    assert (days[0], days[-1]) == ("2026-01-13 00:00", "2026-01-07 00:00")


def test_a_change_links_to_its_trend(page):
    link = page.find_element(By.CSS_SELECTOR, "#latest li a")
    assert link.text == made_up_run.step_name("vgg")
    link.click()
    target = page.find_element(By.ID, page.current_url.split("#")[1])
    assert target.get_attribute("data-name") == link.text


def test_every_link_has_one_target(page):
    links = page.find_elements(By.CSS_SELECTOR, "a[href^='#']")
    names = page.execute_script("return Array.from(document.querySelectorAll('[id]'), e => e.id)")
    assert len(links) > 10 and len(names) == len(set(names))
    assert {link.get_attribute("href").split("#")[1] for link in links} <= set(names)


def test_changes_are_drawn_in_the_trend(page):
    for workload, words in (("vgg", "▲ 30"), ("memnet", "▼ 20")):
        (text,) = card(page, workload).find_elements(By.CSS_SELECTOR, "svg text[font-weight][fill]")
        assert text.text.startswith(words)
    assert not card(page, "alexnet").find_elements(By.CSS_SELECTOR, "svg text[font-weight][fill]")


def test_a_changed_profile_has_a_sign_above_the_op_types(page):
    for workload in made_up_run.PROFILES:
        texts = card(page, workload).find_elements(By.CSS_SELECTOR, "svg text")
        assert [text.text for text in texts].count("◆") == (workload == "seq2seq")


def test_names_and_settings_are_escaped(page):
    assert len(page.find_elements(By.CSS_SELECTOR, "script:not([type])")) == 1
    assert SCRIPT in page.find_element(By.CSS_SELECTOR, "#context table").text
    assert SCRIPT in card(page, "vgg").find_element(By.CLASS_NAME, "marks").text


def test_the_table_of_changes_sorts(page):
    table = page.find_element(By.CSS_SELECTOR, "#changes table")
    headings = table.find_elements(By.TAG_NAME, "th")
    (column,) = [place for place, one in enumerate(headings) if one.text == "change, %"]
    headings[column].find_element(By.TAG_NAME, "button").click()
    found = [float(cell) for cell in cells(table, column)]
    assert found == sorted(found, reverse=True) and found[-1] == pytest.approx(-20, abs=1)
    assert headings[column].get_attribute("aria-sort") == "descending"


def test_ops_are_folded_and_can_be_searched(page):
    section = page.find_element(By.ID, "op")
    assert not section.find_element(By.TAG_NAME, "details").get_attribute("open")
    section.find_element(By.TAG_NAME, "input").send_keys("conv2d VGG onednn")
    rows = section.find_elements(By.CSS_SELECTOR, "tbody tr:not([hidden])")
    assert len(rows) == 2 and all(re.match("op/conv2d/vgg/.*onednn", row.text) for row in rows)
    assert all(row.find_element(By.CSS_SELECTOR, "svg.spark path[stroke^='#']") for row in rows)


def test_trends_can_be_filtered(page):
    box = page.find_element(By.CSS_SELECTOR, ".filter input[type=search]")
    box.send_keys("SEQ threads:1")
    assert [one.is_displayed() for one in cards(page)] == [False, False, True, False, False]
    box.clear()
    box.send_keys(" ")
    page.find_element(By.CSS_SELECTOR, ".filter input[type=checkbox]").click()
    shown = [one.get_attribute("data-name") for one in cards(page) if one.is_displayed()]
    assert shown == [made_up_run.step_name(workload) for workload in ("vgg", "seq2seq", "memnet")]
    assert page.find_element(By.CSS_SELECTOR, ".filter output").text == "3 of 5 rows"


def test_arrow_keys_show_the_values_of_runs(page):
    one = card(page, "vgg")
    one.find_element(By.CLASS_NAME, "plot").send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    values = json.loads(one.find_element(By.CLASS_NAME, "values").get_attribute("textContent"))
    day = DAYS - 2
    words = one.find_element(By.CLASS_NAME, "readout").text.split(" · ")
    assert words[:2] == ["2026-01-19 00:00", made_up.commit(day)[:10]]
    median, low, high = (float(number) for number in re.findall(r"([\d.]+) ms", words[2]))
    expected = [values[key][day] / 1000 for key in ("us", "low", "high")]
    assert [median, low, high] == pytest.approx(expected, rel=1e-3) and low < median < high
    assert words[3].startswith("conv2d ")
    assert len(one.find_elements(By.CLASS_NAME, "cursor")) == 1


def test_the_pointer_shows_the_values_of_a_run(page):
    image = card(page, "vgg").find_element(By.TAG_NAME, "svg")
    script = """
        const [svg, run] = arguments, box = svg.getBoundingClientRect();
        const x = Number(svg.dataset.left) + (run + 0.5) * Number(svg.dataset.step);
        const place = { clientX: box.left + x * box.width / svg.viewBox.baseVal.width, bubbles: true };
        svg.dispatchEvent(new PointerEvent("pointermove", place));
        return svg.closest("section").querySelector(".readout").textContent"""
    for run, day in ((0, "2026-01-01"), (7, "2026-01-08"), (DAYS - 1, "2026-01-20")):
        assert page.execute_script(script, image, run).startswith(f"{day} 00:00 · ")


def test_trends_enlarge(page):
    assert enlarged_width(page, card(page, "vgg")) > 1000


def test_dark_and_light(page):
    for light, dark in zip(*schemes(page, ".plot svg text", "fill")):
        assert light != dark


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_horizontal_scroll(page, width):
    assert fits(page, width)


def test_a_phone_shows_the_changes_first(page):
    size(page, 390, 844)
    top = page.execute_script(
        "return document.querySelector('#latest h3').getBoundingClientRect().top"
    )
    assert top < 844


def test_a_print_has_the_trends_and_no_tools(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert all(one.find_element(By.TAG_NAME, "svg").is_displayed() for one in cards(page))
    for tool in ("nav", ".filter", ".tools", "#theme"):
        assert not page.find_element(By.CSS_SELECTOR, tool).is_displayed()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
