"""The report of a fill: errors, coverage, baselines, and what was left out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from gapfill.evaluation import Score

_SHOWN = 5  # names of a list


@dataclass(frozen=True, slots=True)
class Report:
    """
    What a fill did, and how good its estimates are.

    Attributes:
        measure: that was filled.
        source: where the measurements were read.
        scores: name of a method -> its score; the first one is the method that fills.
        measured: number of measurements.
        filled: number of filled cells.
        rejected: reason -> number of readings.
        duplicates: number of readings that a later one replaced.
        same_place: station that was left out -> station at the same place.
        cold_stations: stations without any measurement, which are not filled.
        cold_dates: days that no station measured, which are not filled.
    """

    measure: str
    source: str
    scores: Mapping[str, Score]
    measured: int
    filled: int
    rejected: Mapping[str, int]
    duplicates: int
    same_place: Mapping[str, str]
    cold_stations: Sequence[str]
    cold_dates: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.scores) < 2:  # noqa: PLR2004 - the method and a baseline
            raise ValueError("a score without a baseline says little")

    def as_json(self) -> str:
        """The report as one JSON object."""
        content = asdict(self)
        for name, each in self.scores.items():
            content["scores"][name]["coverage"] = each.coverage
        return json.dumps(content, indent=2)

    def __str__(self) -> str:
        rejected = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.rejected.items()))
        lines = [
            f"{self.measure}: {self.measured:,} measurements of {self.source}",
            f"rejected: {sum(self.rejected.values()):,} ({rejected or 'none'})",
            f"replaced by a later one: {self.duplicates:,}",
            f"same place: {_list([f'{one} as {other}' for one, other in self.same_place.items()])}",
            f"cold stations: {_list(self.cold_stations)}; cold dates: {_list(self.cold_dates)}",
            f"filled: {self.filled:,} cells",
            "",
            f"{'method':<14}{'MAE':>8}{'coverage':>11}{'no_estimate':>13}",
        ]
        for name, each in self.scores.items():
            mae = "-" if each.mae is None else f"{each.mae:.3f}"
            lines.append(f"{name:<14}{mae:>8}{each.coverage:>11.1%}{each.no_estimate:>13,}")
        return "\n".join(lines)


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "none") + more
