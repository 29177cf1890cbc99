"""
The pages of the site of documents: which files it has, their order, and their list for language models.

The list of documents in docs/README.md is the only list: its headings are the tabs of the site, its links the pages.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HOME = "README.md"
LISTED = "docs/README.md"

_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_CODE = re.compile(r"^(```|~~~).*?^\1[ \t]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#", re.IGNORECASE)
_ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\): (.+)$")


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A document of the list.

    Attributes:
        path: of its file, from the root of the repository.
        about: what it tells, in a line.
    """

    title: str
    path: str
    about: str


@dataclass(frozen=True, slots=True)
class Section:
    """The documents for what a reader wants; `reader` says whom they are for."""

    title: str
    reader: str
    entries: tuple[Entry, ...]


def sections(listed: str) -> list[Section]:
    """
    The list of documents.

    Args:
        listed: the text of docs/README.md.

    Raises:
        ValueError: a heading has no sentence about its reader, or no documents.
    """
    found = []
    for part in listed.split("\n## ")[1:]:
        title, _, rest = part.partition("\n")
        lines = [line for line in rest.splitlines() if line]
        entries = [
            Entry(match[1], os.path.normpath(f"docs/{match[2]}"), match[3])
            for match in map(_ENTRY.match, lines)
            if match is not None
        ]
        if not entries or len(entries) != len(lines) - 1:
            raise ValueError(
                f'{LISTED}: below "## {title}" stand a sentence about the reader and lines "- [TITLE](FILE): TEXT"'
            )
        found.append(Section(title, lines[0], tuple(entries)))
    return found


def files(root: Path) -> list[str]:
    """
    The files of the site, from the root of the repository: all documents, and what they link to.

    Raises:
        ValueError: a link to a folder or to a file that does not exist.
    """
    waiting = [HOME, *(str(path.relative_to(root)) for path in sorted((root / "docs").rglob("*")) if path.is_file())]
    found: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = None
        if name.endswith(".md"):
            waiting += links(root, name)
    return sorted(found)


def links(root: Path, name: str) -> Iterator[str]:
    """The files that a document links to; raises as `files`."""
    for target in _LINK.findall(_CODE.sub("", (root / name).read_text("utf-8"))):
        if _ELSEWHERE.match(target):
            continue
        linked = os.path.normpath(Path(name).parent / target.partition("#")[0])
        if not (root / linked).is_file():
            raise ValueError(f'{name}: a page of the site cannot link to the folder "{target}"; link to a file in it')
        yield linked


def navigation(listed: Sequence[Section], names: Sequence[str]) -> list[dict[str, object]]:
    """
    The navigation as MkDocs reads it; a document whose name is README.md has the others of its folder below it.

    Args:
        listed: as `sections`.
        names: as `files`.

    Raises:
        ValueError: a document is not in the list.
    """
    reached: set[str] = {HOME, LISTED}
    shown: list[dict[str, object]] = [{"Home": [HOME, LISTED]}]
    for section in listed:
        pages: list[dict[str, object]] = []
        for entry in section.entries:
            below = _below(entry.path, names)
            reached.update((entry.path, *below))
            pages.append({entry.title: [entry.path, *below]} if below else {entry.title: entry.path})
        shown.append({section.title: pages})
    others = [name for name in names if name.endswith(".md") and name not in reached]
    if missing := [name for name in others if name.startswith("docs/") and not name.startswith("docs/bench/")]:
        raise ValueError(f"{LISTED}: no line for {', '.join(missing)}")
    return [*shown, {"Project": list(others)}] if others else shown


def index_for_models(listed: Sequence[Section], tagline: str, texts: str) -> str:
    """
    The text of llms.txt, by the proposal of llmstxt.org: a title, a summary, and links with a line about each.

    Args:
        listed: as `sections`.
        tagline: what the product is.
        texts: folder of the Markdown texts, relative to llms.txt.
    """
    lines = ["# attr2hbase", "", f"> {tagline}"]
    for section in listed:
        lines += ["", f"## {section.title}", "", section.reader, ""]
        lines += [f"- [{entry.title}]({texts}{entry.path}): {entry.about}" for entry in section.entries]
    return "\n".join(lines) + "\n"


def _below(path: str, names: Sequence[str]) -> list[str]:
    folder, _, name = path.rpartition("/")
    if name != "README.md":
        return []
    return [each for each in names if each.startswith(f"{folder}/") and each.endswith(".md") and each != path]
