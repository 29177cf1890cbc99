"""The page about the architecture names the packages that exist, in the layers that are enforced."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENFORCED = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
PAGE = (ROOT / "docs/architecture.md").read_text().partition("## Packages and dependencies")[2]
START = "ingest.__main__"  # no package


def test_page_has_the_layers():
    assert [layer for layer in ENFORCED if layer != START] == PAGE.split("```")[1].split("\n")[1:-1]


def test_page_says_what_each_package_has():
    packages = {package for layer in ENFORCED for package in layer.split(" | ")} - {START, "decorators", "sinks"}
    explained = {
        name for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for name in re.findall("`(.*?)`", row)
    }
    assert packages - explained == set()
