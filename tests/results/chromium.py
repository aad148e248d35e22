"""Pages in headless Chromium, for the tests beside this file."""

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
    """The page, freshly opened at 1280 x 900; at the end nothing was complained of or asked for."""
    size(browser, 1280, 900)
    browser.get_log("performance")
    browser.get(path.as_uri())
    yield browser
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert sum(url.startswith("file:") for url in asked) == 1


def size(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(browser, scheme):
    """`dark` or `light`, as a system would."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def cells(table, column):
    script = "return Array.from(arguments[0].tBodies[0].rows, r => r.cells[arguments[1]].innerText)"
    return table.parent.execute_script(script, table, column)


def background(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def overflow(browser, element="documentElement"):
    """Pixels by which a part of the document is wider than what is seen of it."""
    script = f"const one = document.{element}; return one.scrollWidth - one.clientWidth"
    return browser.execute_script(script)
