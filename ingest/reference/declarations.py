"""
Error codes as the source declares them, each beside the code that raises it (ADR 0068).

- A class of an error has `code`, its meaning as the first paragraph of its docstring, and `remedy`, unless its `hint`
  says what to do; it inherits what it does not have. `dropped` is the meaning of the code as the reason of a drop.
- `drop_reason`, `blocked_reason` and members of an `Explained` declare codes that no error has.

The source is parsed: imports of all modules would take seconds, and need Spark and the packages of all stores.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ingest.api import Disposition
from ingest.plugins.contract import TYPES

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("ingest", "decorators", "sinks")
_STATEMENTS = re.compile(
    r"^(?:class \w+(?:Error\(|\(Explained\):)|\w+ = (?:\w+\(\s*)?(?:drop|blocked)_reason\().*\n(?:[ )].*\n|\n)*",
    re.MULTILINE,
)
"""Statements of a module that may declare a code; to parse whole modules would take a second."""


_COMMAND = re.compile("'(attr2hbase [^']*)'")


@dataclass(frozen=True, slots=True)
class Declaration:
    """
    A code and what is declared with it.

    Attributes:
        of: name of the function or of the base class that declares it; "" for errors.
        dropped: its meaning as the reason of a drop; often "".
        disposition: of an error; None for other codes.
        exit_code: of a command that fails with the error; None if no command does.
        file: that declares it, from the root of the product.
    """

    code: str
    meaning: str
    remedy: str
    of: str = ""
    dropped: str = ""
    disposition: Disposition | None = None
    exit_code: int | None = None
    file: str = ""


_Statement = tuple[str, ast.stmt]
"""A statement that may declare a code, after the file that it is in."""


def declarations() -> list[Declaration]:
    """
    All declarations of this product.

    Raises:
        ValueError: two classes of errors have the same name, or a code is declared twice for the same purpose.
    """
    nodes = [node for package in _PACKAGES for node in _statements(_ROOT / package)]
    found = _declared(nodes)
    for names in (
        [node.name for _, node in nodes if isinstance(node, ast.ClassDef)],
        [(each.of, each.code) for each in found],
    ):
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise ValueError(f"declared twice: {twice[0]}")
    return found


def of_plugins() -> list[Declaration]:
    """The codes that installed plugins declare in the same way; of a code of this product, its own declaration."""
    nodes = [node for package in _PACKAGES for node in _statements(_ROOT / package)]
    packages = {
        point.module.partition(".")[0] for each in TYPES.values() for point in metadata.entry_points(group=each.group)
    }
    for package in sorted(packages):
        spec = find_spec(package)  # does not import it
        for place in [] if spec is None else spec.submodule_search_locations or [spec.origin or ""]:
            nodes = [*_statements(Path(place)), *nodes]
    return _declared(nodes)


def _statements(place: Path) -> list[_Statement]:
    """The statements that may declare a code, of a file or of all files of a folder."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place] if place.suffix == ".py" else []
    texts = [(file, text) for file in files for text in _STATEMENTS.findall(file.read_text(encoding="utf-8"))]
    return [
        (str(file.relative_to(_ROOT)) if file.is_relative_to(_ROOT) else "", ast.parse(text).body[0])
        for file, text in texts
    ]


def _declared(nodes: Iterable[_Statement]) -> list[Declaration]:
    classes: dict[str, ast.ClassDef] = {}
    files: dict[str, str] = {}
    others: list[Declaration] = []
    for file, node in nodes:
        match node:
            case ast.ClassDef(name=name) if name.endswith("Error"):
                classes[name] = node
                files[name] = file
            case ast.ClassDef(name=name, body=body):
                members = [each.value for each in body if isinstance(each, ast.Assign)]
                others += (
                    Declaration(*_texts(each.elts), of=name, file=file)
                    for each in members
                    if isinstance(each, ast.Tuple)
                )
            case ast.Assign(value=value):
                for each in ast.walk(value):
                    match each:
                        case ast.Call(func=ast.Name("drop_reason" | "blocked_reason" as function), args=args):
                            others.append(Declaration(*_texts(args), of=function, file=file))
    return [*_of_errors(classes, files), *others]


def _texts(nodes: list[ast.expr]) -> tuple[str, str, str]:
    code, meaning, *remedy = map(_literal, nodes)
    return code, meaning, remedy[0] if remedy else ""


def _of_errors(classes: dict[str, ast.ClassDef], files: dict[str, str]) -> Iterator[Declaration]:
    for node in classes.values():
        line = [node]
        while classes.get(base := _base(line[-1]), node) not in line:
            line.append(classes[base])
        own = _attributes(node)
        if line[-1].name != "IngestError" or "code" not in own:
            continue
        said = next(found for each in line if (found := _attributes(each)).keys() & {"remedy", "hint"})
        inherited: dict[str, ast.expr] = {}
        for each in reversed(line):
            inherited |= _attributes(each)
        is_of_event = any(each.name == "EventError" for each in line)
        yield Declaration(
            _literal(own["code"]),
            " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split()),
            _literal(said["remedy"]) if "remedy" in said else _sentence(_literal(said["hint"])),
            dropped=_literal(own.get("dropped", ast.Constant(""))),
            disposition=Disposition[_last_name(inherited["disposition"])],
            exit_code=None if is_of_event else _literal(inherited["exit_code"]),
            file=files[node.name],
        )


def _literal(node: ast.expr) -> Any:
    """The value of an expression; the text of one that is no literal, which only a plugin has."""
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def _sentence(hint: str) -> str:
    """A hint, which ends a message, as a sentence of a page."""
    text = _COMMAND.sub(r"`\1`", hint)
    return f"{text[:1].upper()}{text[1:]}."


def _base(node: ast.ClassDef) -> str:
    return _last_name(node.bases[0]) if node.bases else ""


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _attributes(node: ast.ClassDef) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for each in node.body:
        match each:
            case (
                ast.Assign(targets=[ast.Name(name)], value=value)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            ):
                found[name] = value
    return found
