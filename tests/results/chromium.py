"""Opens pages in headless Chromium, for the tests in the folders below."""

import contextlib
import json
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@pytest.fixture(scope="module")
def browser():
    command = shutil.which("chromedriver")
    if command is None:
        pytest.skip("no chromedriver (Debian: chromium-driver)")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    service = webdriver.chrome.service.Service(command)
    driver = webdriver.Chrome(service=service, options=options)
    yield driver
    driver.quit()


@contextlib.contextmanager
def opened(browser, path):
    """Opens the page at 1280 x 900. At the end, fails if the browser logged a message or requested another file."""
    size(browser, 1280, 900)
    browser.get_log("performance")
    browser.get(path.as_uri())
    yield browser
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requested = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in requested if not url.startswith(("file:", "data:", "blob:"))] == []
    assert sum(url.startswith("file:") for url in requested) == 1


def size(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(browser, scheme):
    """Sets the preferred colour scheme, `dark` or `light`."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def cells(table, column):
    """Texts of a column of a table."""
    script = "return Array.from(arguments[0].tBodies[0].rows, r => r.cells[arguments[1]].innerText)"
    return table.parent.execute_script(script, table, column)


def background(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def overflow(browser, element="documentElement"):
    """Pixels by which the content of an element is wider than the element."""
    script = f"const one = document.{element}; return one.scrollWidth - one.clientWidth"
    return browser.execute_script(script)


def fits(browser, width):
    """Whether the page, with all details open, needs no horizontal scrolling at this width, and says what is cut off."""
    size(browser, width, 844)
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    is_fit = browser.execute_script("return innerWidth") == width and overflow(browser) == 0
    return is_fit and shows_what_is_cut(browser)


BOXES = "Array.from(document.querySelectorAll('.plot, .scroll'))"
UNMARKED = f"""const done = arguments[0];
requestAnimationFrame(() => setTimeout(() => done({BOXES}.filter(box =>
  (box.scrollWidth - box.clientWidth - box.scrollLeft > 1) !== (getComputedStyle(box).maskImage !== 'none')).length)))"""


def shows_what_is_cut(browser):
    """Whether those boxes fade out at the right that have more there, at their beginning and at their end."""
    unmarked = []
    for left in ("0", "box.scrollWidth"):
        browser.execute_script(f"{BOXES}.forEach(box => {{ box.scrollLeft = {left}; }})")
        unmarked.append(browser.execute_async_script(UNMARKED))
    return unmarked == [0, 0]


def schemes(browser, selector, style):
    """(background, style of the element) in light and in dark."""
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    found = []
    for scheme in ("light", "dark"):
        prefer(browser, scheme)
        found.append((background(browser), browser.execute_script(script, selector, style)))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    return found


def enlarged_width(browser, section):
    """The width of the section's figure in the dialog that its button opens. Escape closes it again."""
    section.find_element(By.CSS_SELECTOR, "[data-enlarge]").click()
    dialog = browser.find_element(By.TAG_NAME, "dialog")
    assert dialog.is_displayed()
    width = dialog.find_element(By.TAG_NAME, "svg").size["width"]
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not dialog.is_displayed()
    return width
