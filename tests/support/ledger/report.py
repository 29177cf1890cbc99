"""Results of faults: as JSON lines, as a table at the end of a test run, and as a table in the docs."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.support.marked_tables import ROOT, between, commit_of_product, markdown

VARIABLE = "FAULT_REPORT"
PAGE = ROOT / "docs" / "reliability.md"
FAULTS, MUTANTS = "faults", "mutants"
NUMBERS = ("sent", "stored", "dead-lettered", "dropped", "redelivered", "lost", "corrupt")
HEADS = ("fault", "proof", "store", *NUMBERS)
WIDEST = 48


@dataclass(frozen=True)
class Row:
    """
    The result of one injected fault.

    Attributes:
        proof: evidence that the fault happened.
        redelivered: number of rows sent again; None if rows are overwritten anyway.
        predicted: predicted number of lost events; None if none may be lost.
        wrong: broken rules; empty if the run passed.
        mutant: description of a deliberate bug; then some rule must be broken.
        commit: newest commit of the product, with a plus if it has uncommitted changes.
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
    mutant: str = ""
    at: str = ""
    commit: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether a rule was broken, or for a mutant, whether none was."""
        return bool(self.wrong) != bool(self.mutant)

    @property
    def rules(self) -> str:
        """The broken rules."""
        return ", ".join(dict.fromkeys(each.partition(":")[0] for each in self.wrong))

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the table row."""
        lost = f"{self.lost}" if self.predicted is None else f"{self.lost} (predicted {self.predicted})"
        again = "-" if self.redelivered is None else f"{self.redelivered}"
        numbers = [f"{each}" for each in (self.sent, self.stored, self.dead_lettered, self.dropped)]
        return (self.fault, "; ".join(self.proof), self.store, *numbers, again, lost, f"{self.corrupt}")


def folder() -> Path:
    """Folder of the results; those of several machines have folders in it."""
    return Path(os.environ.get(VARIABLE) or ROOT / "build" / "faults")


def write(row: Row) -> None:
    """Append a row to the file of this process."""
    path = folder() / f"{os.getpid()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with path.open("a") as file:
        file.write(json.dumps(asdict(replace(row, at=now, commit=commit_of_product())), ensure_ascii=False) + "\n")
    _written.append(row)


def add_row(
    fault: str, proof: str, seconds: float, *, stored: int = 0, dead: int = 0, dropped: int = 0, lost: int = 0
) -> None:
    """Write the row of a fault without a ledger."""
    write(
        Row(
            fault=fault,
            store="rocksdb",
            seed=0,
            proof=(proof,),
            sent=stored + dead + dropped + lost,
            stored=stored,
            dead_lettered=dead,
            dropped=dropped,
            redelivered=None,
            lost=lost,
            corrupt=0,
            seconds=round(seconds, 1),
            predicted=lost or None,
        )
    )


_written: list[Row] = []


def written() -> Sequence[Row]:
    """Rows written by this process."""
    return _written


def rows() -> list[Row]:
    """The newest row of each fault, store and seed."""
    stored = [Row(**json.loads(line)) for path in folder().rglob("*.jsonl") for line in path.read_text().splitlines()]
    stored.sort(key=lambda each: each.at)
    found = {(row.fault, row.store, row.seed): row for row in stored}
    return sorted(found.values(), key=lambda each: (each.fault, each.store, each.seed))


def text_table(shown: Iterable[Row]) -> list[str]:
    """The table for a terminal; broken rules replace the proof."""
    lines = [(*HEADS, "end")]
    for row in shown:
        end = "FAILED" if row.has_failed else "caught" if row.mutant else "ok"
        outcome = f"broken: {row.rules}" if row.wrong else row.cells[1]
        lines.append((row.cells[0], outcome, *row.cells[2:], end))
    short = [tuple(cell if len(cell) <= WIDEST else f"{cell[: WIDEST - 1]}…" for cell in line) for line in lines]
    widths = [max(map(len, column)) for column in zip(*short, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in short]


def fault_table(shown: Sequence[Row], before: str = "") -> str:
    """
    The table for a page; a line has the sums of all seeds of a fault.

    Args:
        before: the text with the table of an earlier report; faults that did not run again keep their lines.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in shown:
        groups.setdefault((row.fault, row.store), []).append(row)
    found = {(cells[0], cells[2]): cells for cells in lines_of(before)}
    for place, members in groups.items():
        seeds = ", ".join(f"{row.seed}" for row in members)
        found[place] = (*_summed(members).cells, seeds, _commits(members))
    lines = [found[place] for place in sorted(found)]
    runs = sum(len(cells[-2].split(", ")) for cells in lines)
    sent = sum(int(cells[3]) for cells in lines)
    lost = sum(_not_predicted(cells[8]) for cells in lines)
    about = f"{runs} runs, {sent:,} events, {lost} lost that were not predicted to be; the last run on {_last(shown)}."
    return f"{about}\n\n{markdown((*HEADS, 'seeds', 'commit'), lines, numbers=range(3, 10))}"


def lines_of(table: str) -> list[tuple[str, ...]]:
    """The cells of the lines of a table that `fault_table` has made."""
    lines = [line.removeprefix("| ").removesuffix(" |") for line in table.splitlines() if line.startswith("| ")]
    return [tuple(cell.replace("\\|", "|") for cell in line.split(" | ")) for line in lines[1:]]


def _not_predicted(lost: str) -> int:
    """The number of lost events, less those that were predicted, of a cell such as `5 (predicted 5)`."""
    count, _, predicted = lost.removesuffix(")").partition(" (predicted ")
    return int(count) - int(predicted or 0)


def mutant_table(shown: Sequence[Row], _before: str = "") -> str:
    """The table of mutants for a page, with the rules that detected them; they all run together."""
    lines = [(row.mutant, row.store, f"{row.lost}", f"{row.corrupt}", row.rules) for row in shown]
    heads = ("deliberate bug", "store", "lost", "corrupt", "broken rules")
    return f"{_when(shown)}\n\n{markdown(heads, dict.fromkeys(lines), numbers=range(2, 4))}"


def render(page: Path = PAGE) -> None:
    """Write the tables between the markers of the page; refused if a result is a failure."""
    shown = rows()
    failed = [f"{row.fault} ({row.store}, seed {row.seed})" for row in shown if row.has_failed]
    if failed:
        raise SystemExit(f"failed in their last run, see {folder()}: {', '.join(failed)}")
    if not shown:
        raise SystemExit(f"no rows in {folder()}: run the fault tests first")
    text = page.read_text()
    for name, some, table in (
        (FAULTS, [row for row in shown if not row.mutant], fault_table),
        (MUTANTS, [row for row in shown if row.mutant], mutant_table),
    ):
        if some:
            text = between(text, name, lambda before, some=some, table=table: table(some, before))
    page.write_text(text)


def _when(shown: Sequence[Row]) -> str:
    first, last = min(row.at for row in shown)[:10], _last(shown)
    when = f"on {last}" if first == last else f"from {first} to {last}"
    return f"Measured {when} at {_commits(shown)}."


def _last(shown: Sequence[Row]) -> str:
    return max(row.at for row in shown)[:10]


def _commits(shown: Sequence[Row]) -> str:
    return ", ".join(dict.fromkeys(f"`{row.commit}`" for row in shown))


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
    return replace(first, **numbers, redelivered=again, predicted=predicted)
