"""
Find points that separate the weather: between two stations that measure less alike than their distance explains.

    python influencers.py [--config pipeline.yaml] [--geojson data/influencers.geojson] [--map data/influencers.svg]

Filled cells are not used, only measurements.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from gapfill.atlas import drawn
from gapfill.errors import run
from gapfill.fit import MAX_PAIRS, Weights
from gapfill.influencers import found_in, geojson


def main(arguments: Sequence[str]) -> None:
    """Find the points, print a summary, and write them as GeoJSON and as a map."""
    options = parsed(arguments)
    # Spark starts only after the arguments are checked
    from gapfill.tables import Tables, open_session

    session = open_session("influencers")
    try:
        data = Tables(session, options.config).dataset(options.measure)
    finally:
        session.stop()
    found = found_in(data, Weights(*options.weights), options.max_pairs)
    print(found)
    for path, text in (
        (options.geojson, json.dumps(geojson(found.points), indent=1) + "\n"),
        (options.map, drawn(found.places, found.points)),
    ):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Find points that separate the weather.")
    parser.add_argument("--config", default="pipeline.yaml", metavar="FILE", help="the pipeline file")
    parser.add_argument("--measure", default="temp", metavar="FAMILY", help="family whose column value is compared")
    parser.add_argument("--geojson", type=Path, metavar="FILE", help="write the points as GeoJSON")
    parser.add_argument("--map", type=Path, metavar="FILE", help="draw the stations and the points, as SVG")
    parser.add_argument(
        "--weights",
        type=float,
        nargs=3,
        default=Weights(),
        metavar=("LATITUDE", "LONGITUDE", "ALTITUDE"),
        help="weight of a degree of latitude, a degree of longitude and 1,000 metres in the distance",
    )
    parser.add_argument(
        "--max-pairs", type=int, default=MAX_PAIRS, metavar="N", help="largest number of pairs; those of 3,000 stations"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(run(main))
