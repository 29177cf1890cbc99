"""The commands that messages, help pages and documents name exist, with their options."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.cli.app import application
from tests.support.environments import ROOT

COMMANDS = dict(application().every())
GROUPS = {words.rsplit(" ", count)[0] for words in COMMANDS for count in range(1, words.count(" ") + 1)}
OPTIONS = {option for each in application().params for option in each.opts} | {"-h", "--help"}
"""The options before the words, which are after them, too."""
PLACE = "PLACE"
"""Stands for what a message inserts."""
CALLS = {"command_line": 1, "NextCommand": 0}
"""Function -> position of the argument with the words of a command."""
MODULES = [file for package in ("ingest", "sinks", "decorators") for file in sorted((ROOT / package).rglob("*.py"))]
PAGES = [file for file in sorted((ROOT / "docs").rglob("*.md")) if "adr" not in file.parts] + [ROOT / "README.md"]
OF_GROUP = re.compile(r"`attr2hbase ([a-z -]+)` with ((?:`[a-z-]+`(?:, | or | and )?)+)")


def problem_of(text: str, *, is_prose: bool = False) -> str | None:
    """
    What is wrong with the words after `attr2hbase`; None if nothing is.

    Args:
        text: the words.
        is_prose: the text may be a sentence, so an unknown word is no command.
    """
    try:
        words = shlex.split(re.sub(r"\$\([^)]*\)", PLACE, text))
    except ValueError:  # a part of a quotation
        words = text.split()
    if not words or not re.fullmatch("-{1,2}[a-z].*|[a-z][a-z-]*", words[0]):  # such as COMMAND
        return None
    names, options = [], set()
    is_value = False
    for word in words:
        if word in {"|", ">", "&&", ";", "#", "\\", "&"}:
            break
        if re.match("--?[a-z]", word):
            options.add(word.partition("=")[0].rstrip(",.;:"))
        elif not is_value and " ".join(names) not in COMMANDS:
            if " ".join(names) in GROUPS and not re.match("[a-z]", word):  # such as COMMAND
                return None
            names.append(word.rstrip(",.;:"))
        is_value = word in {"-f", "--file", "--output"}
    if (not names or " ".join(names) in GROUPS) and options <= OPTIONS:
        return None
    if (command := COMMANDS.get(" ".join(names))) is None:
        return None if is_prose else f"there is no command `{text}`"
    unknown = options - OPTIONS - {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return f"`{text}` has no {', '.join(sorted(unknown))}" if unknown else None


def problems_of_text(text: str) -> Iterator[str | None]:
    """Those of the commands between quotes or after `Example:`, and of a text that is a command."""
    joined = " ".join(text.split())
    for quote in "`'\"":
        for words in re.findall(rf"(?<!\w){quote}attr2hbase ([^{quote}]+){quote}", joined):
            yield problem_of(words)
    for words in re.findall(r"Example: attr2hbase (.+)", text):
        yield problem_of(words)
    if text.startswith("attr2hbase "):
        yield problem_of(text.partition(" ")[2], is_prose=True)


def problems_of_module(file: Path) -> Iterator[str | None]:
    """Those of its strings, and of the commands that it suggests."""
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield from problems_of_text(text_of(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            _, *arguments = [PLACE, *map(text_of, node.args)][CALLS[node.func.id] :]
            yield problem_of(" ".join(shlex.quote(each) for word in arguments for each in word.split()))


def text_of(node: ast.AST) -> str:
    """The string of an expression, with places for what is inserted."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else PLACE
    return "".join(map(text_of, node.values)) if isinstance(node, ast.JoinedStr) else PLACE


def problems_of_page(text: str) -> Iterator[str | None]:
    """Those of its code, in lines and between backticks."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = block.replace("\\\n", " ")
        yield from map(problem_of, re.findall(r"^(?:\$ |next: | +)?attr2hbase (.+)", lines, re.MULTILINE))
        yield from map(problem_of, re.findall(r"\$\(attr2hbase ([^)]+)\)", lines))
    for line in text.splitlines():
        for words in re.findall("`attr2hbase ([^`]+)`", line):
            yield problem_of(words)
        for group, words in OF_GROUP.findall(line):
            for word in re.findall("[a-z-]+", words.replace(" or ", "").replace(" and ", "")):
                yield problem_of(f"{group} {word}")
        for words in re.findall("`([a-z-]+ [a-z-]+)[^`]*`", line):
            if f"admin {words}" in COMMANDS and words not in COMMANDS:
                yield problem_of(words)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("as 'attr2hbase log-level'", 1),
        ("'attr2hbase dump run --rooot /dumps' and `attr2hbase dump ls`", 1),
        ("`attr2hbase\nblob sweep`", 1),
        ("Example: attr2hbase scan t --nonsense\nExample: attr2hbase -f p.yaml scan t --limit 1", 1),
        ("attr2hbase does not start", 0),
        ("'attr2hbase admin feed groups TABLE --remove G' | `attr2hbase -f p.yaml dump --output json ls --help`", 0),
    ],
)
def test_wrong_commands_are_found(text: str, count: int):
    assert len([each for each in problems_of_text(text) if each]) == count


def test_commands_of_the_product_exist():
    found = {
        str(file.relative_to(ROOT)): sorted({each for each in problems_of_module(file) if each}) for file in MODULES
    }
    assert {file: problems for file, problems in found.items() if problems} == {}


def test_commands_of_the_documents_exist():
    texts = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in PAGES}
    found = {file: sorted({each for each in problems_of_page(text) if each}) for file, text in texts.items()}
    assert {file: problems for file, problems in found.items() if problems} == {}
