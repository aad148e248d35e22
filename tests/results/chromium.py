"""Opens pages in headless Chromium, for the tests in the folders below."""

import contextlib
import json

import pytest
from selenium import webdriver


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    service = webdriver.chrome.service.Service("/usr/bin/chromedriver")
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
