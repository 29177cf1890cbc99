"""The site of the documents: all links work, and a page needs nothing from another server."""

import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.marked_tables import ROOT

pytestmark = pytest.mark.slow  # it installs MkDocs


class Links(HTMLParser):
    """
    What a page links to, and what it loads.

    Attributes:
        targets: of links.
        loaded: scripts, styles, pictures.
        ids: that a link may end with.
    """

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.loaded: set[str] = set()
        self.ids: set[str] = {"", "__top"}
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        if tag == "a" and found.get("href"):
            self.targets.add(str(found["href"]))
        elif tag == "link" and found.get("rel") == "stylesheet":
            self.loaded.add(str(found["href"]))
        elif tag in ("script", "img") and found.get("src"):
            self.loaded.add(str(found["src"]))


@pytest.fixture(scope="module")
def site() -> Path:
    subprocess.run(["make", "site"], cwd=ROOT, check=True, timeout=540)
    return ROOT / "dist" / "site"


def test_links_of_all_pages_work_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html")}
    assert len(pages) > 150
    broken = []
    for page, found in pages.items():
        for target in found.targets | found.loaded:
            parts = urlsplit(target)
            if parts.scheme or page.name == "404.html":
                continue
            linked = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            linked = linked / "index.html" if linked.is_dir() else linked
            if not linked.exists() or (linked in pages and unquote(parts.fragment) not in pages[linked].ids):
                broken.append(f"{page.relative_to(site)}: {target}")
        broken += [f"{page.relative_to(site)}: loads {each}" for each in found.loaded if urlsplit(each).netloc]
    assert broken == []


def test_list_for_models_and_search_have_the_guides(site: Path) -> None:
    listed = (site / "llms.txt").read_text("utf-8")
    assert (site / "markdown/docs/guides/recipes.md").read_text("utf-8") == (ROOT / "docs/guides/recipes.md").read_text(
        "utf-8"
    )
    assert "](markdown/docs/guides/recipes.md)" in listed
    assert "docs/guides/recipes/#parsing" in (site / "search" / "search_index.json").read_text("utf-8")
