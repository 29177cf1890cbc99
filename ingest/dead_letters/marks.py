"""Which dead letters were replayed: a file of marks beside them, since dead letters themselves never change."""

from collections.abc import Collection, Mapping

import orjson

from ingest.dead_letters.queue import Mark, ReplayOutcome
from ingest.durable import StatePath, append_durably, make_folder, write_durably


class Marks:
    """
    Marks in one file, appended to and not rewritten by `add`, so that concurrent replays lose none.

    A line that a crash cut short is ignored: its dead letter is replayed once more, with the same result.
    """

    def __init__(self, path: StatePath) -> None:
        self._path = path

    def add(self, marks: Mapping[str, Mark]) -> None:
        """Append marks; durable when it returns."""
        if not marks:
            return
        make_folder(self._path.parent)
        # an empty line first: it ends a line that a crash may have cut short
        append_durably(self._path, b"\n" + _lines(marks))

    def keep(self, positions: Collection[str]) -> None:
        """Remove the marks of all other positions; while no replay of the pipeline adds any."""
        kept = {position: mark for position, mark in self.load().items() if position in positions}
        if kept:
            write_durably(self._path, _lines(kept))
        else:
            self._path.unlink(missing_ok=True)

    def load(self) -> dict[str, Mark]:
        """The last mark of each position."""
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        marks = {}
        for line in lines:
            try:
                position, outcome, at_ms, code, *counted = orjson.loads(line)
                sinks = {str(sink): int(time_ms) for each in counted for sink, time_ms in each.items()}
                marks[str(position)] = Mark(ReplayOutcome(outcome), int(at_ms), str(code), sinks)
            except (ValueError, TypeError, AttributeError):
                continue
        return marks


def _lines(marks: Mapping[str, Mark]) -> bytes:
    found = []
    for position, mark in marks.items():
        code = mark.code.encode("utf-8", "replace").decode()
        counted = [dict(mark.counted)] if mark.counted else []
        found.append(orjson.dumps([position, mark.outcome.value, mark.at_ms, code, *counted]))
    return b"\n".join(found) + b"\n"
