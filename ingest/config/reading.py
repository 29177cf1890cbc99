"""Reads a file into one tree of nodes: included files are merged, variables expanded, limits enforced."""

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.api import NotFoundError
from ingest.api.files import open_regular
from ingest.config.nodes import (
    MAX_FILE_BYTES,
    BadYamlError,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    compose,
    plain,
)
from ingest.config.problems import Kind, Place, Problem
from ingest.config.variables import Expander, NoSecrets, SecretCommand, SecretDirectory, SecretSource
from ingest.masks import Masks
from ingest.suggest import did_you_mean

STDIN = "-"
MAX_FILES = 50  # included by one configuration


@dataclass(slots=True)
class Document:
    """
    A configuration that was read and not yet checked.

    Attributes:
        sources: file -> text, in the order of reading.
        unknown: places of scalars with an undefined variable or secret.
        is_whole: False if parsing stopped or an included file could not be read.
    """

    file: str
    root: MappingNode = field(repr=False)
    sources: dict[str, str] = field(default_factory=dict, repr=False)
    problems: list[Problem] = field(default_factory=list)
    masks: Masks = field(default_factory=Masks)
    unknown: set[Place] = field(default_factory=set)
    is_whole: bool = True


def read(path: str | Path, env: Mapping[str, str], *, is_inert: bool = False) -> Document:
    """
    Read a configuration; syntax errors and other problems are in the document's `problems`.

    Args:
        path: a file, or `-` for stdin; paths in `include` are relative to the folder of the including file.
        env: the values of `${VAR}`.
        is_inert: for a file that is not trusted like code: secrets stay unknown, so that no command of the file runs,
            and it and what it includes must be regular files, so that nothing waits, as for a named pipe.

    Raises:
        NotFoundError: there is no such file.
    """
    file = str(path)
    is_stdin = file == STDIN and not is_inert
    try:
        if is_stdin:
            content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            content = (_content_of_regular if is_inert else _content)(Path(file))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = _hint_for(Path(file)) if isinstance(error, FileNotFoundError) else None
        raise NotFoundError(f'cannot read "{file}": {reason}', hint=hint) from error
    name, folder = ("<stdin>", Path()) if is_stdin else (file, Path(file).parent)
    return _document(content, name, folder, env, is_inert=is_inert)


def _hint_for(missing: Path) -> str:
    """A file of the same folder with a similar name, or how to write one."""
    with contextlib.suppress(OSError):
        files = [str(path) for path in missing.parent.iterdir() if path.suffix in {".yaml", ".yml"}]
        if similar := did_you_mean(str(missing), files):
            return similar
    return (
        "the file is named by -f FILE, else by ATTR2HBASE_FILE=FILE, else it is pipeline.yaml in the current folder; "
        "'attr2hbase init' writes one"
    )


def read_text(text: str, name: str, env: Mapping[str, str]) -> Document:
    """The same for a text; paths in `include` are relative to the working directory."""
    return _document(text.encode(), name, Path(), env)


def _document(content: bytes, name: str, folder: Path, env: Mapping[str, str], *, is_inert: bool = False) -> Document:
    document = Document(name, MappingNode(Place(name, 1, 1)))
    try:
        reader = _Reader(document, env, _content_of_regular if is_inert else _content)
        root = reader.tree(name, content, folder, ())
    except BadYamlError as error:
        document.problems.append(error.problem)
        document.is_whole = False
        return document
    no_secrets = NoSecrets()
    secrets = no_secrets if is_inert else _secret_source(root, Expander(env, no_secrets, document.masks, []))
    expander = Expander(env, secrets, document.masks, document.problems)
    expanded = expander.expand(root)
    document.unknown = expander.unknown
    assert isinstance(expanded, MappingNode)  # noqa: S101 - expansion keeps the type
    document.root = expanded
    return document


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)


def _content_of_regular(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(MAX_FILE_BYTES + 1)


def _secret_source(root: MappingNode, expander: Expander) -> SecretSource:
    """The source of secrets; the binder reports problems of `secrets`."""
    node = root.entries.get("secrets")
    match plain(expander.expand(node)) if node is not None else None:
        case {"directory": str(directory)}:
            return SecretDirectory(directory)
        case {"exec": [str(), *rest] as command} if all(isinstance(part, str) for part in rest):
            return SecretCommand(command)
        case _:
            return NoSecrets()


class _Reader:
    """Reads a file and the files it includes."""

    def __init__(self, document: Document, env: Mapping[str, str], content: Callable[[Path], bytes]) -> None:
        self._document = document
        self._content = content
        self._expander = Expander(env, NoSecrets(), document.masks, document.problems)
        self._files = 0

    def tree(self, name: str, content: bytes, folder: Path, including: tuple[Path, ...]) -> MappingNode:
        """The mapping of a file, merged over the files it includes."""
        start = Place(name, 1, 1)
        if len(content) > MAX_FILE_BYTES:
            raise BadYamlError(Problem(Kind.TOO_LARGE, start, f"the file is larger than {MAX_FILE_BYTES} bytes"))
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = content[: error.start].decode("utf-8-sig").split("\n")
            place = Place(name, len(before), len(before[-1]) + 1)
            raise BadYamlError(Problem(Kind.SYNTAX, place, "the file is not UTF-8 text")) from error
        self._document.sources[name] = text
        root = compose(text, name, self._document.problems)
        if root is None:
            return MappingNode(start)
        if not isinstance(root, MappingNode):
            raise BadYamlError(
                Problem(Kind.WRONG_TYPE, root.place, "a configuration is a mapping of names to values, not a list")
                if isinstance(root, SequenceNode)
                else Problem(Kind.WRONG_TYPE, root.place, "a configuration is a mapping of names to values, not text")
            )
        merged = MappingNode(root.place)
        for node in self._included(root):
            if (found := self._include(node, folder, including)) is not None:
                merged = merge(merged, found)
        return merge(merged, root)

    def _included(self, root: MappingNode) -> list[ScalarNode]:
        node = root.entries.get("include")
        if node is None:
            return []
        node = self._expander.expand(node)
        nodes: list[Node] = node.items if isinstance(node, SequenceNode) else [node]
        root.entries["include"] = node  # so that undefined variables are not reported twice
        return [item for item in nodes if isinstance(item, ScalarNode) and isinstance(item.value, str) and item.value]

    def _include(self, node: ScalarNode, folder: Path, including: tuple[Path, ...]) -> MappingNode | None:
        path = folder / node.text
        problem = None
        self._files += 1
        try:
            resolved = path.resolve()
            if resolved in including or str(path) == self._document.file:
                problem = Problem(Kind.CONFLICT, node.place, f'"{node.text}" includes itself')
            elif self._files > MAX_FILES:
                problem = Problem(Kind.TOO_LARGE, node.place, f"more than {MAX_FILES} files are included")
            else:
                content = self._content(path)
        except (OSError, RuntimeError, ValueError) as error:  # also a NUL in the path, or a loop of links
            reason = error.strerror if isinstance(error, OSError) else "invalid path"
            problem = Problem(Kind.UNKNOWN_REFERENCE, node.place, f'cannot read "{path}": {reason}')
        if problem is not None:
            self._document.problems.append(problem)
            self._document.is_whole = False
            return None
        return self.tree(str(path), content, path.parent, (*including, resolved))


def merge(below: MappingNode, above: MappingNode) -> MappingNode:
    """Merge two mappings: nested mappings merge, every other value of `above` replaces that of `below`."""
    entries = dict(below.entries)
    for key, node in above.entries.items():
        lower = entries.get(key)
        if isinstance(lower, MappingNode) and isinstance(node, MappingNode):
            entries[key] = merge(lower, node)
        else:
            entries[key] = node
    return MappingNode(above.place, entries, below.keys | above.keys)
