"""The log of the example `counters`, counted without a pipeline."""

import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.environments import ROOT

EXAMPLE = ROOT / "deploy" / "examples" / "counters"
_LINE = re.compile(
    r'(?P<host>\S+) - (?P<user>\S+) \[(?P<day>\d\d)/Nov/2026:(?P<minute>\d\d:\d\d):\d\d \+0000\] "GET (?P<page>\S+) '
    r'HTTP/1\.1" (?P<status>\d+) (?P<bytes>\S+) "(?:-|https://(?P<site>[^/]+)\S*)" "[^"]*"'
)


@dataclass
class CountedLog:
    """
    What the tables of the example contain.

    Attributes:
        lines: outcome -> number of lines.
        pages: page -> column -> number.
        minutes: minute -> column -> number.
        referers: site -> column -> number.
        statuses: host -> its last five statuses, newest first.
        users: user -> page and host of the last request.
    """

    lines: Counter[str] = field(default_factory=Counter)
    pages: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    minutes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    referers: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    statuses: dict[str, list[str]] = field(default_factory=dict)
    users: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of_example(cls) -> "CountedLog":
        """The counts of the example's files."""
        found = cls()
        for line in _lines(EXAMPLE / "logs"):
            found.add(line)
        return found

    def add(self, line: str) -> None:
        """Count one line."""
        match = _LINE.fullmatch(line)
        if match is None:
            self.lines["failed"] += 1
            return
        page, host = match["page"], match["host"]
        if page == "/healthz":
            self.lines["dropped"] += 1
            return
        self.lines["stored"] += 1
        day = f"2026-11-{match['day']}"
        self.pages[page].update(["total:hits", f"day:{day}"])
        if match["bytes"] != "-":
            self.pages[page]["total:bytes"] += int(match["bytes"])
        minute = self.minutes[f"{day}T{match['minute']}"]
        minute.update(["hits:all", *(["hits:errors"] if int(match["status"]) >= 500 else [])])
        if match["site"] not in {None, "shop.example"}:
            self.referers[match["site"]][f"to:{page}"] += 1
        self.statuses[host] = [match["status"], *self.statuses.get(host, [])][:5]
        if match["user"] != "-":
            self.users[match["user"]] = page, host


def _lines(folder: Path) -> Iterator[str]:
    for file in sorted(folder.iterdir()):
        yield from gzip.decompress(file.read_bytes()).decode().splitlines()
