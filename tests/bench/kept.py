"""A run of one commit, machine and day that is kept by turn in a folder, so that it can be interrupted."""

import json
import shutil
import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from tests.bench import calibration

ATTEMPTS = 3
"""How often a turn is measured if the machine was faster or slower than usual; the last one is kept as it is."""
LONGEST = timedelta(hours=24)
_HEAD = "run.json"


class RunError(Exception):
    """A run cannot be measured or shown; the message has the way out."""


@dataclass(frozen=True)
class Head:
    """
    What all turns of a run have in common.

    Attributes:
        commit: of the product and the benchmarks.
        machine: the machine and versions.
        settings: of the product and the servers.
        options: numbers of events and turns.
        started: time of the first turn, in ISO 8601 with its zone.
        is_draft: whether the tree may have had changes that are in no commit, so the run is not published.
    """

    commit: str
    machine: Mapping[str, str]
    settings: Mapping[str, str]
    options: Mapping[str, float | str]
    started: str
    is_draft: bool = False


@dataclass(frozen=True)
class Turn:
    """
    Each benchmark of a part, measured once, one after the other.

    Attributes:
        part: its name.
        number: of the turn, from 1.
        attempt: from 1.
        calibration_s: times of `calibration.seconds` before, between and after the benchmarks.
        figures: name of a benchmark -> what was measured.
    """

    part: str
    number: int
    attempt: int
    calibration_s: list[float]
    figures: dict[str, Any]

    @property
    def median_s(self) -> float:
        """The median of its calibration."""
        return statistics.median(self.calibration_s)


class KeptRun:
    """The run in a folder."""

    def __init__(self, folder: Path, head: Head, turns: Mapping[tuple[str, int], Turn]) -> None:
        self.head = head
        self._folder = folder
        self._turns = dict(turns)

    @classmethod
    def started(cls, folder: Path, head: Head) -> Self:
        """
        Start a run; one that was kept in the folder is removed.

        Raises:
            RunError: the folder has something else.
        """
        if folder.exists() and any(folder.iterdir()) and not (folder / _HEAD).exists():
            raise RunError(f"{folder} has files, and no run: choose another --folder")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / _HEAD).write_text(_json(asdict(head)))
        return cls(folder, head, {})

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The run in the folder; None if there is none."""
        file = folder / _HEAD
        if not file.exists():
            return None
        found = (Turn(**json.loads(each.read_text())) for each in folder.glob("*.json") if each != file)
        return cls(folder, Head(**json.loads(file.read_text())), {(turn.part, turn.number): turn for turn in found})

    @classmethod
    def resumed(cls, folder: Path, head: Head) -> Self:
        """
        The run in the folder, or a new one if there is none.

        Raises:
            RunError: the run in the folder is another one.
        """
        found = cls.read(folder)
        if found is None:
            return cls.started(folder, head)
        differs = [
            f"{name} was {_text(was)} and is {_text(now)}"
            for name, was, now in (
                ("the commit", found.head.commit, head.commit),
                ("the machine", found.head.machine, head.machine),
                ("the settings", found.head.settings, head.settings),
                ("the numbers of events and turns", found.head.options, head.options),
            )
            if was != now
        ]
        if datetime.fromisoformat(head.started) - datetime.fromisoformat(found.head.started) > LONGEST:
            differs.append(f"it was started at {found.head.started}, more than a day ago")
        if differs:
            raise RunError(
                f"the run in {folder} cannot be continued: {'; '.join(differs)}. Go back to them, or start anew with "
                "--new, which removes it"
            )
        return found

    def keep(self, turn: Turn) -> None:
        """Write a turn to its file; it replaces an earlier attempt."""
        self._turns[turn.part, turn.number] = turn
        file = self._folder / f"{turn.part}-{turn.number}.json"
        written = file.with_suffix(".part")
        written.write_text(_json(asdict(turn)))
        written.rename(file)

    def due(self, wanted: Mapping[str, int]) -> dict[str, dict[int, int]]:
        """
        What is to be measured next: part -> number of a turn -> its attempt.

        Args:
            wanted: part -> number of turns.
        """
        found = {}
        for part, count in wanted.items():
            attempts = {number: self._attempt(part, number) for number in range(1, count + 1)}
            if due := {number: attempt for number, attempt in attempts.items() if attempt is not None}:
                found[part] = due
        return found

    def _attempt(self, part: str, number: int) -> int | None:
        """The next attempt of a turn; None if it counts as it is."""
        turn = self._turns.get((part, number))
        if turn is None:
            return 1
        most = 1 if self.head.is_draft else ATTEMPTS
        return turn.attempt + 1 if self.deviates(turn) and turn.attempt < most else None

    def deviates(self, turn: Turn) -> bool:
        """Whether the machine was faster or slower in a turn than in most of the run."""
        return calibration.deviates(turn.calibration_s, self.median_s)

    @property
    def median_s(self) -> float:
        """The median of the calibration of the run."""
        return statistics.median(each for turn in self._turns.values() for each in turn.calibration_s)

    def turns(self, part: str) -> list[Turn]:
        """The turns of a part, by number."""
        return [self._turns[key] for key in sorted(self._turns) if key[0] == part]

    def parts(self) -> list[str]:
        """The parts that have a turn."""
        return sorted({part for part, _ in self._turns})


def commit_of(root: Path) -> tuple[str, list[str]]:
    """Commit of a working tree, and the files in it that differ from it."""
    commit = _git(root, "rev-parse", "--short", "HEAD").strip()
    return commit, [line[3:] for line in _git(root, "status", "--porcelain").splitlines()]


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


def _json(found: object) -> str:
    return json.dumps(found, indent=1) + "\n"  # benchmarks stay in their order


def _text(found: object) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items()) if isinstance(found, Mapping) else str(found)
