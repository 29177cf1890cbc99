"""`attr2hbase test --update`: changes a file and prints the changes."""

from collections.abc import Callable
from pathlib import Path

import orjson

from ingest.amounts import counted
from ingest.api import ConfigError, NotFoundError
from ingest.cli.output import Output
from ingest.config.model import Configuration
from ingest.config.nodes import NodePath
from ingest.dry_run import CaseResult
from ingest.dry_run.update import has_no_expectation, updated
from ingest.durable import write_durably

_MARK = "\ufeff"  # byte order mark, which some editors on Windows write

Run = Callable[[str], "tuple[list[CaseResult], Configuration]"]


def update_tests(out: Output, file: str, run: Run) -> list[dict[str, object]]:
    """
    Write the actual results into tests that fail or expect nothing yet.

    Returns:
        Changes and refusals by test, for `--output json`.

    Raises:
        ConfigError: the configuration is from stdin, or cannot be changed safely; nothing is written.
        NotFoundError: the file cannot be written.
    """
    if file == "-":
        raise ConfigError("tests of stdin cannot be updated", hint="name the file")
    results, configuration = run(file)
    chosen = [
        (number, result) for number, result in enumerate(results) if has_no_expectation(result) or not result.passed
    ]
    if not chosen:
        return []
    target = results[0].case.location.file  # all tests are in one file: included lists replace each other
    content = _read(target)
    text = content.removeprefix(_MARK)
    found = updated(text, chosen, configuration.masks.hide)
    if found.text != text:
        _write(target, content.removesuffix(text) + found.text)
    updates: list[dict[str, object]] = []
    for number, result in chosen:
        changes, refused = found.changes.get(number, []), found.refused.get(number, [])
        updates.append(
            {
                "name": result.case.name,
                "changes": [
                    {"path": list(change.path), "before": change.before, "after": change.after} for change in changes
                ],
                "left": [{"path": list(path), "reason": reason} for path, reason in refused],
            }
        )
        out.parts(("updated " if changes else "skipped ", "yellow"), (result.case.name, ""))
        for change in changes:
            out.line(f"  {shown_path(change.path)}: {_shown(change.before)} -> {_shown(change.after)}")
        for path, reason in refused:
            out.line(f"  {shown_path(path)}: unchanged, {reason}", "red")
    if found.text != text:
        out.done(f"{target}: {counted(len(found.changes), 'test')} updated; review the change before you keep it")
    return updates


def shown_path(path: NodePath) -> str:
    """A path as messages show it: `puts[0].row`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "expect"


def _shown(value: object) -> str:

    return "nothing" if value is None else orjson.dumps(value).decode()


def _read(file: str) -> str:

    return Path(file).read_bytes().decode("utf-8")  # newlines are kept


def _write(file: str, text: str) -> None:

    path = Path(file).resolve()  # a link is kept
    try:
        mode = path.stat().st_mode
        write_durably(path, text.encode("utf-8"))
        path.chmod(mode)
    except OSError as error:
        raise NotFoundError(f'cannot write "{file}": {error.strerror}', hint="the file is unchanged") from error
