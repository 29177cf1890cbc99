"""Which dead letters were replayed: a file of marks beside them, since dead letters themselves never change."""

from collections.abc import Mapping

import orjson

from ingest.dead_letters.queue import Mark, ReplayOutcome
from ingest.durable import StatePath, append_durably, make_folder


class Marks:
    """
    Marks in one file, appended to and never rewritten, so that concurrent replays lose none.

    A line that a crash cut short is ignored: its dead letter is replayed once more, with the same result.
    """

    def __init__(self, path: StatePath) -> None:
        self._path = path

    def add(self, marks: Mapping[str, Mark]) -> None:
        """Append marks; durable when it returns."""
        if not marks:
            return
        make_folder(self._path.parent)
        lines = [
            orjson.dumps([position, mark.outcome.value, mark.at_ms, mark.code.encode("utf-8", "replace").decode()])
            for position, mark in marks.items()
        ]
        # an empty line first: it ends a line that a crash may have cut short
        append_durably(self._path, b"\n" + b"\n".join(lines) + b"\n")

    def load(self) -> dict[str, Mark]:
        """The last mark of each position."""
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        marks = {}
        for line in lines:
            try:
                position, outcome, at_ms, code = orjson.loads(line)
                marks[str(position)] = Mark(ReplayOutcome(outcome), int(at_ms), str(code))
            except (ValueError, TypeError):
                continue
        return marks
