"""
Checks that no linter has: links in Markdown files, the glossary, the layout of the tests.

    python deploy/checks/tree.py

Prints every finding as file:line: message; exits with 1 if there is one.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_TERMS = 45  # of the glossary; more would not be read
GLOSSARY = "docs/architecture.md"
MIRRORED = ("ingest", "decorators", "sinks")  # packages whose unit tests are in folders of the same names

_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
_TEST_IMPORT = re.compile(r"^[ \t\"']*(?:from|import) tests\.(?!support\b|bench\b)[\w.]+", re.MULTILINE)
_TERM = re.compile(r"^\| (?!term \|)([^|-][^|]*) \|", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def main() -> int:
    """Run all checks on the files that git tracks or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    checks = (broken_links, glossary, layout)
    findings = [finding for name in names for check in checks for finding in check(name)]
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


def broken_links(name: str) -> Iterator[str]:
    """Links of a Markdown file to a file or heading that does not exist."""
    if not name.endswith(".md"):
        return
    file = ROOT / name
    text = without_code(file.read_text(encoding="utf-8"))
    for match in _LINK.finditer(text):
        target, _, anchor = match[1].partition("#")
        if _ELSEWHERE.match(target):
            continue
        place = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
        linked = (file.parent / target).resolve() if target else file
        if not linked.exists():
            yield f'{place}: no file "{target}"'
        elif not linked.is_relative_to(ROOT):
            yield f'{place}: "{target}" is outside the project'
        elif anchor and linked.suffix == ".md" and anchor not in anchors(linked):
            yield f'{place}: no heading "#{anchor}" in {linked.relative_to(ROOT)}'


def anchors(file: Path) -> set[str]:
    """Anchors of the headings of a Markdown file, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", file.read_text(encoding="utf-8"))):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        number = 0
        while (anchor := plain if number == 0 else f"{plain}-{number}") in found:
            number += 1
        found.add(anchor)
    return found


def without_code(text: str) -> str:
    """The text without code; line numbers stay the same."""
    text = _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return _CODE.sub(lambda match: " " * len(match[0]), text)


def glossary(name: str) -> Iterator[str]:
    """Findings if the glossary is too long or not sorted, or if a guide does not link to it."""
    if name.startswith("docs/guides/") and "(../architecture.md#glossary)" not in (ROOT / name).read_text("utf-8"):
        yield f"{name}:1: no link to the glossary; add one at the end"
    if name == GLOSSARY:
        text = (ROOT / name).read_text(encoding="utf-8")
        terms = _TERM.findall(text.partition("## Glossary\n")[2].partition("\n## ")[0])
        if len(terms) > MAX_TERMS:
            yield f"{name}:1: {len(terms)} terms in the glossary; explain some where they are used, at most {MAX_TERMS}"
        if terms != sorted(terms):
            yield f"{name}:1: the glossary is not sorted"


def layout(name: str) -> Iterator[str]:
    """Findings if a unit test mirrors no package, or if a test (or a script in its text) imports another test."""
    path = Path(name)
    if path.parts[0] != "tests" or path.suffix != ".py":
        return
    package = Path(*path.parts[2:-1])
    is_mirror = path.parts[1] == "unit" and path.parts[2] in MIRRORED
    if is_mirror and not (ROOT / package / "__init__.py").is_file():
        yield f'{name}:1: there is no package "{package}"; move the test to the folder of the package it tests'
    for match in _TEST_IMPORT.finditer(text := (ROOT / path).read_text(encoding="utf-8")):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{name}:{line}: a test imports a test; move shared code to tests/support or a conftest.py"


if __name__ == "__main__":
    sys.exit(main())
