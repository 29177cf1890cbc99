"""Tables of results in Markdown pages, between two markers, and the commit that they are of."""

import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("ingest", "decorators", "sinks")
"""Folders whose changes make results old."""


def between(text: str, name: str, content: Callable[[str], str]) -> str:
    """The text with new content between two markers, made from the old one."""
    old = table_of(text, name)
    begin, end = _markers(name)
    return text.replace(f"{begin}{old}{end}", f"{begin}\n{content(old)}\n{end}")


def table_of(text: str, name: str) -> str:
    """The text between the two markers of a table; refused if a marker is missing."""
    begin, end = _markers(name)
    found = re.search(f"{re.escape(begin)}(.*?){re.escape(end)}", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"the page has no markers {begin} … {end}")
    return found[1]


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def markdown(heads: Sequence[str], lines: Iterable[Sequence[str]], *, numbers: range) -> str:
    """A table; the columns of `numbers` are aligned to the right."""
    rule = "|".join("--:" if column in numbers else "---" for column in range(len(heads)))
    cells = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join([f"| {' | '.join(heads)} |", f"|{rule}|", *(f"| {line} |" for line in cells)])


@cache
def commit_of_product() -> str:
    """The newest commit of the product, with a plus if it has uncommitted changes."""
    product = ["--", *PRODUCT]
    newest = _git("log", "-1", "--format=%h", "--abbrev=10", *product) or "unknown"
    return f"{newest}+" if _git("status", "--porcelain", *product) else newest


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
