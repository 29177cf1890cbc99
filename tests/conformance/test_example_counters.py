"""The picture and the README of the example `counters` show what its log contains."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.counted_log import EXAMPLE, CountedLog

README = (EXAMPLE / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def counted() -> CountedLog:
    return CountedLog.of_example()


def test_log_equals_the_output_of_its_generator(tmp_path: Path) -> None:
    subprocess.run([sys.executable, EXAMPLE / "generate.py", tmp_path], check=True)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in (EXAMPLE / "logs").iterdir())
    for name in names:
        # compressed bytes differ between versions of zlib, their content does not
        assert gzip.decompress((tmp_path / name).read_bytes()) == gzip.decompress(
            (EXAMPLE / "logs" / name).read_bytes()
        )


def test_picture_shows_the_hits_of_the_log(counted: CountedLog) -> None:
    rows = [
        {"row": minute, "cells": [[*name.split(":"), 0, str(number)] for name, number in columns.items()]}
        for minute, columns in counted.minutes.items()
    ]
    drawn = subprocess.run(
        [sys.executable, EXAMPLE / "chart.py"],
        input="\n".join(map(json.dumps, rows)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert drawn.stdout == (EXAMPLE / "hits.svg").read_text("utf-8")


def test_readme_shows_the_counts_of_the_log(counted: CountedLog) -> None:
    stored, dropped, failed = (counted.lines[name] for name in ("stored", "dropped", "failed"))
    assert f"three days, {counted.lines.total():,} lines: {stored:,} are counted, {dropped} are requests" in README
    assert f"dropped, {failed} are cut off" in README
    shown = dict(re.findall(r"^  (\w+:\S+) +(\d+)$", README.partition("pages --limit 1\n")[2], re.MULTILINE)[:5])
    assert shown == {name: str(number) for name, number in counted.pages["/"].items()}
    sites = dict(re.findall(r"^(\S+)  \S+Z\n  to:/cart  (\d+)$", README, re.MULTILINE))
    assert sites == {site: str(columns["to:/cart"]) for site, columns in counted.referers.items()}
    assert f"last:statuses  {_array(counted.statuses['192.0.2.10'])}\n" in README


def test_readme_shows_the_number_of_puts(counted: CountedLog) -> None:
    visits = sum(columns.total() for columns in counted.referers.values())
    orders = counted.pages["/checkout"]["total:hits"]
    assert f"{3 * counted.lines['stored'] + visits + orders:,} puts of the sinks became" in README


def _array(statuses: list[str]) -> str:
    return json.dumps(statuses, separators=(",", ":"))
