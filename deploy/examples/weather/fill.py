"""
Estimate the measurements that are missing in the table, and store them in its family `filled`.

    python fill.py [--config pipeline.yaml] [--report data/report.json]

It first hides 5 % of the measurements from the method and from several baselines, and reports how well each of them
estimates these: the mean absolute error, and for how many of them there is an estimate at all. Then it fits the method
to all measurements and stores its estimates of the gaps. A measured cell is never written.

With --from-dump ROOT it reads a dump of the tables. The estimates go into the tables of the pipeline file all the same.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gapfill.baselines import additive, date_mean, station_mean
from gapfill.errors import run
from gapfill.evaluation import Method, clamped, scores
from gapfill.grid import Values
from gapfill.neighbours import Neighbours
from gapfill.report import Report

METHOD = "additive+als"
SEED = 17
"""Of the hidden part and of the factors; with the same one, a second run stores the same cells."""
BASELINES: dict[str, Method] = {
    "additive": additive,
    "date_mean": date_mean,
    "station_mean": station_mean,
    "neighbours": Neighbours(),
}


def main(arguments: Sequence[str]) -> None:
    """Fill the gaps of one measure, and print the report."""
    options = parsed(arguments)
    # Spark starts only after the arguments are checked
    from gapfill.als import AdditiveAls
    from gapfill.tables import Origin, Tables, gaps, open_session, pinned

    session = open_session("fill")
    try:
        with pinned(options.from_dump) as dump:
            tables = Tables(session, options.config, dump)
            data = tables.dataset(options.measure)
        values = data.grid.values
        method = partial(estimated, AdditiveAls(session, options.rank, SEED), clamp=options.clamp)
        found = scores({METHOD: method, **BASELINES}, values, options.holdout, SEED)
        cells = gaps(data.grid, method(values))
        origin = Origin(METHOD, options.rank, found[METHOD].mae)
        tables.write_filled(options.measure, cells, origin=origin, time_ms=data.newest_ms)
    finally:
        session.stop()
    report = Report(
        measure=options.measure,
        source=tables.source,
        scores=found,
        measured=len(data.cleaned.values),
        filled=len(cells),
        rejected=dict(data.cleaned.rejected),
        duplicates=data.cleaned.duplicates,
        same_place=data.same_place,
        cold_stations=data.grid.cold_stations,
        cold_dates=data.grid.cold_dates,
    )
    print(report)
    if options.report is not None:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(report.as_json() + "\n", "utf-8")


def estimated(method: Method, values: Values, *, clamp: bool) -> Values:
    """The estimates of all cells; with `clamp`, each is near the range that its station has measured."""
    estimates = method(values)
    return clamped(estimates, values) if clamp else estimates


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Estimate missing measurements and store them.")
    parser.add_argument("--config", default="pipeline.yaml", metavar="FILE", help="the pipeline file")
    parser.add_argument("--measure", default="temp", metavar="FAMILY", help="family whose column value is estimated")
    parser.add_argument(
        "--from-dump", metavar="ROOT", help="read the tables from the newest dump of this folder, instead of the store"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report, as JSON")
    parser.add_argument("--holdout", type=_fraction, default=0.05, metavar="FRACTION", help="part that is hidden")
    parser.add_argument("--rank", type=_positive, default=4, metavar="N", help="number of factors")
    parser.add_argument(
        "--clamp", action="store_true", help="keep estimates within the station's range and 3 standard deviations of it"
    )
    return parser.parse_args(arguments)


def _fraction(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


if __name__ == "__main__":
    raise SystemExit(run(main))
