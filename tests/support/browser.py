"""A real browser, Debian's chromium, for tests of the page of a service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.programs import path_of

if TYPE_CHECKING:  # to import it takes a second of CPU, in each process that collects the tests of the page
    from selenium.webdriver import Chrome

CSS, XPATH, LINK = "css selector", "xpath", "link text"
"""How to find an element: the strategies of the WebDriver protocol."""
DESKTOP = (1280, 1000)
PHONE = (390, 844)


@contextmanager
def browser(folder: Path) -> "Iterator[Chrome]":
    """
    A browser without a window; closed at the end of the block.

    Args:
        folder: for its profile.
    """
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = path_of("chromium") or path_of("google-chrome") or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",  # which root cannot have
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        f"--user-data-dir={folder}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = Chrome(options, Service(path_of("chromedriver")))
    try:
        opened.set_window_size(*DESKTOP)
        yield opened
    finally:
        opened.quit()


def problems_of(opened: "Chrome") -> list[str]:
    """What the page has written to the console since the last call: errors and refused resources among it."""
    return [str(line["message"]) for line in opened.get_log("browser")]
