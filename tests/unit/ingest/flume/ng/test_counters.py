"""Counters of Flume's simple serializers become tables with deferred updates."""

import pytest

from ingest.catalog import Catalog
from ingest.config import bind, read_text
from ingest.config.nodes import plain
from tests.support.flume_agent import BASE, EVENT, REGEX, changed

COUNTER = "a.sinks.k.serializer.incrementColumn = hits\n"
ROW = "a.sinks.k.serializer.incrementRow = 100%\n"
COALESCED = "a.sinks.k.coalesceIncrements = true\n"
ONE = (1).to_bytes(8, "big").decode()
SINKS = {
    "hbase2": "SimpleHBase2EventSerializer",
    "hbase": "SimpleHbaseEventSerializer",
    "asynchbase": "SimpleAsyncHbaseEventSerializer",
}


@pytest.fixture
def written(imported):
    """The imported file as values."""
    return lambda text: plain(read_text(imported(text).yaml, "new.yaml", {}).root)


def note_of(imported, text):
    (entry,) = (entry for entry in imported(text).entries if entry.original == "sink k")
    return entry.why


@pytest.mark.parametrize("kind", SINKS)
@pytest.mark.parametrize("is_named", [False, True])
def test_each_event_adds_one_to_a_counter_as_hbase_stores_it(kind, is_named, written, outcomes):
    text = changed(BASE, "a.sinks.k.type", kind) + COUNTER + ROW
    if is_named:
        text += f"a.sinks.k.serializer = org.apache.flume.sink.{kind}.{SINKS[kind]}\n"
    assert written(text)["tables"] == {
        "a-k_counter": {"families": {"cf": {}}, "updates": {"processor": {"sum": {"type": "int64"}}}}
    }
    (line,) = outcomes(text, EVENT)
    event, counter = line["puts"]
    assert event["cells"] == [["cf", "pCol", "r1 text"]]
    assert (counter["sink"], counter["table"], counter["row"]) == ("counter", "a-k_counter", "100%")
    assert (counter["cells"], counter["wal"]) == ([["cf", "hits", ONE]], True)


@pytest.mark.parametrize(
    ("more", "row", "column"),
    [
        (ROW, "100%", "iCol"),
        (COUNTER, "incRow", "hits"),
        (COALESCED, "incRow", "iCol"),
    ],
)
def test_options_that_are_left_out_have_the_defaults_of_flume(more, row, column, outcomes):
    (line,) = outcomes(BASE + more, EVENT)
    counter = line["puts"][1]
    assert (counter["row"], counter["cells"][0][1]) == (row, column)


def test_counter_that_no_option_mentions_is_a_note(imported, written):
    assert "tables" not in written(BASE)
    assert "the counter in iCol of row incRow, a default of Flume, is not imported" in note_of(imported, BASE)


@pytest.mark.parametrize("more", ["a.sinks.k.serializer.incrementColumn =\n", REGEX])
def test_sink_without_a_counter_has_no_note(more, imported, written):
    assert "tables" not in written(BASE + more)
    assert "counter" not in note_of(imported, BASE + more)


def test_counter_is_in_the_log_of_the_store_even_if_events_are_not(outcomes, imported):
    text = BASE + COUNTER + COALESCED + "a.sinks.k.enableWal = false\n"
    (line,) = outcomes(text, EVENT)
    assert [put["wal"] for put in line["puts"]] == [False, True]
    assert "coalesceIncrements: a task always writes one row" in note_of(imported, text)
    assert "not needed" not in note_of(imported, text)


def test_each_pipeline_and_store_has_a_table_of_its_own(written):
    text = changed(changed(changed(BASE, "a.sources", "r s"), "a.sinks", "k l"), "a.channels", "c d") + COUNTER
    text += "".join(
        line.replace("sources.r.", "sources.s.").replace("= web", "= app") + "\n"
        for line in BASE.splitlines()
        if "sources.r." in line
    )
    text = changed(text, "a.sources.r.channels", "c d") + "a.channels.d.type = memory\n"
    text += "".join(
        line.replace("sinks.k.", "sinks.l.").replace("channel = c", "channel = d") + "\n"
        for line in (BASE + COUNTER).splitlines()
        if "sinks.k." in line
    )
    text += "a.sinks.l.zookeeperQuorum = dc2\n"
    made = written(text)
    assert {name: table["store"] for name, table in made["tables"].items()} == {
        "a-r-k_counter": "hbase",
        "a-s-k_counter": "hbase",
        "a-l_counter": "hbase-dc2",
    }
    sinks = {name: pipeline["sinks"][1]["hbase"] for name, pipeline in made["pipelines"].items()}
    assert {name: (sink["store"], sink["table"]) for name, sink in sinks.items()} == {
        "a-r-k": ("hbase", "a-r-k_counter"),
        "a-s-k": ("hbase", "a-s-k_counter"),
        "a-l": ("hbase-dc2", "a-l_counter"),
    }


def test_variables_name_the_row_and_the_column(imported):
    text = BASE + "a.sinks.k.serializer.incrementColumn = ${DC}\na.sinks.k.serializer.incrementRow = r-${DC}\n"
    document = read_text(imported(text).yaml, "new.yaml", {"DC": "ams"})
    bound = bind(document, Catalog())
    ((_, sink),) = [pipeline.sinks for pipeline in bound.pipelines.values()]
    assert (str(sink.settings.row_key.template), str(sink.settings.cells[0].qualifier)) == ("r-ams", "ams")


def test_counter_in_a_family_that_is_a_variable_is_a_warning(imported, written):
    text = changed(BASE, "a.sinks.k.columnFamily", "${CF}") + COUNTER
    (warning,) = imported(text).warnings
    assert "the counter is not imported" in warning.message
    assert text.splitlines()[warning.location.line - 1].startswith("a.sinks.k.columnFamily")
    assert "tables:" not in imported(text).yaml


def test_increments_of_another_serializer_are_written_by_hand(imported):
    text = BASE + COALESCED + "a.sinks.k.serializer = com.example.Own\n"
    (entry,) = (entry for entry in imported(text).entries if entry.outcome == "by hand")
    assert "and for its increments a sink into a table with `updates:" in entry.why


def test_settings_of_the_asynchronous_client_are_accepted(imported):
    text = changed(BASE, "a.sinks.k.type", "org.apache.flume.sink.hbase.AsyncHBaseSink")
    assert imported(text + "a.sinks.k.async.hbase.rpc.timeout = 5000\na.sinks.k.timeout = 60000\n").warnings == ()
