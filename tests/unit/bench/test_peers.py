"""The peers get the work of attr2hbase."""

import re

import pytest

from tests.bench import flume, latency
from tests.bench.committing import HERE, sql
from tests.bench.workload import COLUMNS, LINE, PATTERN, Workload

(ONE,) = (line.decode() for line in Workload().lines(1))
CELLS = dict(zip(COLUMNS, re.match(PATTERN, ONE).groups(), strict=True))


@pytest.mark.parametrize(
    ("body", "keyed", "more"),
    [(False, False, {}), (True, False, {LINE: ONE}), (False, True, {"ROW_KEY": CELLS["path"]})],
)
def test_flume_stores_the_same_cells(body, keyed, more):
    regex, names = flume._parsed(body, keyed)
    assert dict(zip(names, re.fullmatch(regex, ONE).groups(), strict=True)) == CELLS | more


def test_flink_stores_the_same_cells():
    _, target, insert = sql("b:1", "t", "g", "access", "z:2").split("\n\n")
    assert re.findall(r"`(\w+)` STRING", target) == list(COLUMNS)
    extracted = re.findall(r"REGEXP_EXTRACT\(line, '(.*?)', (\d)\)", insert)
    assert extracted == [(PATTERN, str(number)) for number in range(1, 10)]


def test_consumer_with_happybase_has_about_twenty_lines():
    lines = (HERE / "happybase_consumer.py").read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith(("import", "from", '"""'))]) <= 20


def test_no_line_of_a_latency_measurement_occurs_twice():
    made = latency.ticks(1_000.0, 4, 0.5)
    assert len({tick.path for tick in made}) == len(made)
    assert len({content for tick in made for content in tick.batches.values()}) == 4 * len(made)
