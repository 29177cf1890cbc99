"""A row for each fault and what came of it: as JSON lines, as a table at the end of a run, as a table in the docs."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VARIABLE = "FAULT_REPORT"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
COLUMNS = ("sent", "stored", "dead", "dropped", "again", "lost", "corrupt")


@dataclass(frozen=True)
class Row:
    """
    One fault once injected.

    Attributes:
        proof: how it is known that the fault was there.
        redelivered: rows sent again; None where a row is written many times anyway.
        predicted: events that had to be lost, said before they were counted; None where nothing may be.
        wrong: which rules were broken; empty for a row that passed.
    """

    fault: str
    store: str
    seed: int
    proof: Sequence[str]
    sent: int
    stored: int
    dead_lettered: int
    dropped: int
    redelivered: int | None
    lost: int
    corrupt: int
    seconds: float
    predicted: int | None = None
    wrong: Sequence[str] = field(default_factory=list)
    at: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """As shown."""
        lost = f"{self.lost}" if self.predicted is None else f"{self.lost} (predicted {self.predicted})"
        again = "-" if self.redelivered is None else f"{self.redelivered}"
        numbers = [f"{each}" for each in (self.sent, self.stored, self.dead_lettered, self.dropped)]
        return (self.fault, "; ".join(self.proof), self.store, *numbers, again, lost, f"{self.corrupt}")


HEADS = ("fault", "proof that it happened", "store", *COLUMNS)


def folder() -> Path:
    """Where rows are kept."""
    return Path(os.environ.get(VARIABLE) or ROOT / "build" / "faults")


def write(row: Row) -> None:
    """Add a row to this process's file."""
    path = folder() / f"{os.getpid()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = asdict(row) | {"at": datetime.now(UTC).isoformat(timespec="seconds")}
    with path.open("a") as file:
        file.write(json.dumps(content, ensure_ascii=False) + "\n")
    _written.append(row)


_written: list[Row] = []


def written() -> Sequence[Row]:
    """Rows of this process."""
    return _written


def rows() -> list[Row]:
    """The newest row of each fault, store and seed."""
    found: dict[tuple[str, str, int], Row] = {}
    kept = (Row(**json.loads(line)) for path in folder().glob("*.jsonl") for line in path.read_text().splitlines())
    for row in sorted(kept, key=lambda each: each.at):
        found[row.fault, row.store, row.seed] = row
    return sorted(found.values(), key=lambda each: (each.fault, each.store, each.seed))


def text_table(shown: Iterable[Row]) -> list[str]:
    """For a terminal."""
    lines = [HEADS, *(row.cells for row in shown)]
    lines = [tuple(cell if len(cell) <= 60 else f"{cell[:59]}…" for cell in line) for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def markdown_table(shown: Sequence[Row], commit: str, date: str) -> str:
    """For a page; several seeds of a fault are one line, with the sums of their numbers."""
    lost = sum(row.lost - (row.predicted or 0) for row in shown)
    sent = sum(row.sent for row in shown)
    lines = [
        f"Measured on {date} at commit `{commit}`: {len(shown)} runs, {sent:,} events sent, {lost} lost unforeseen.",
        "",
        f"| {' | '.join(HEADS)} | seeds |",
        f"|{'---|' * 3}{'--:|' * len(COLUMNS)}---|",
    ]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in shown:
        groups.setdefault((row.fault, row.store), []).append(row)
    for members in groups.values():
        cells = [cell.replace("|", "\\|") for cell in _summed(members).cells]
        seeds = ", ".join(f"{row.seed}" for row in members)
        lines.append(f"| {' | '.join(cells)} | {seeds} |")
    return "\n".join(lines)


def render(page: Path = PAGE) -> None:
    """Put the table between the markers of the page; what failed has no place there."""
    shown = rows()
    failed = [f"{row.fault} ({row.store}, seed {row.seed})" for row in shown if row.wrong]
    if failed:
        raise SystemExit(f"these did not pass, so there is no table: {', '.join(failed)}")
    if not shown:
        raise SystemExit(f"no rows in {folder()}: run the fault tests first")
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    commit = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    table = markdown_table(shown, commit, f"{datetime.now(UTC):%Y-%m-%d}")
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


def _summed(members: Sequence[Row]) -> Row:
    first = members[0]
    if len(members) == 1:
        return first
    numbers = {
        name: sum(getattr(row, name) for row in members)
        for name in ("sent", "stored", "dead_lettered", "dropped", "lost", "corrupt")
    }
    again = None if first.redelivered is None else sum(row.redelivered or 0 for row in members)
    predicted = None if first.predicted is None else sum(row.predicted or 0 for row in members)
    return Row(**{**asdict(first), **numbers, "redelivered": again, "predicted": predicted})
