"""Flume 1: of a failover group the sink with the highest priority is imported."""

import pytest

from ingest.api import ConfigInvalidError

SOURCE = """\
a.sources = r
a.sources.r.type = org.apache.flume.source.kafka.KafkaSource
a.sources.r.kafka.bootstrap.servers = localhost:9092
a.sources.r.kafka.topics = web
a.sources.r.channels = c d
a.channels = c d
a.channels.c.type = memory
a.channels.d.type = memory
a.sinks = k1 k2 k3
"""


def agent(*groups, **sinks):
    """An agent with three sinks, each with its own table, and the groups `g1` and so on."""
    lines = [SOURCE, f"a.sinkgroups = {' '.join(f'g{number}' for number in range(1, len(groups) + 1))}\n"]
    for name in ("k1", "k2", "k3"):
        own = {"type": "hbase2", "channel": "c", "table": name, "columnFamily": "f", **sinks.get(name, {})}
        lines += [f"a.sinks.{name}.{key} = {value}\n" for key, value in own.items()]
    for number, options in enumerate(groups, start=1):
        lines += [f"a.sinkgroups.g{number}.{key} = {value}\n" for key, value in options.items()]
    return "".join(lines)


def group(sinks, kind="failover", **priorities):
    return {
        "sinks": sinks,
        "processor.type": kind,
        **{f"processor.priority.{name}": value for name, value in priorities.items()},
    }


ELSEWHERE = {"channel": "d"}
GONE = {"type": "file_roll"}


@pytest.mark.parametrize(
    ("found", "sinks", "expected"),
    [
        (group("k1 k2 k3", k1="5", k2="10", k3="7"), {}, ["k2"]),
        (group("k1 k2 k3", "FAILOVER", k1="15", k2="10", k3="7"), {}, ["k1"]),
        (group("k1 k2 k3", "org.apache.flume.sink.FailoverSinkProcessor", k3="+1"), {}, ["k3"]),
        (group("k3 k2 k1", k1="-10", k2="-9", k3="-11"), {}, ["k2"]),
        (group("k1 k2 k3", k1="0", k2="9999999999", k3="ten"), {}, ["k1"]),
        (group("k3 k2 k1"), {}, ["k3"]),
        (group("k1 k2 k3", k1="-3"), {}, ["k2"]),
        (group("k3 k2 k1", k1="4", k2="4", k3="4"), {}, ["k3"]),
        (group("k1 k2 k3 gone", gone="9", k3="1"), {}, ["k3"]),
        (group("k1 k2", k1="5", k2="10"), {"k3": ELSEWHERE}, ["k2", "k3"]),
        (group("k1 k2 k3", k1="5", k2="10", k3="1"), {"k3": ELSEWHERE}, ["k2", "k3"]),
        (group("k1 k2 k3", k1="5", k2="10", k3="7"), {"k2": GONE}, ["k3"]),
        (group("k1 k2 k3", k1="5", k2="10", k3="7"), {"k3": GONE}, ["k2"]),
    ],
)
def test_sink_with_the_highest_priority_receives_every_event(found, sinks, expected, configuration):
    pipelines = configuration(agent(found, **sinks)).pipelines
    assert list(pipelines) == [f"a-{name}" for name in expected]
    assert [str(sink.settings.table.text) for each in pipelines.values() for sink in each.sinks] == expected


def test_sink_belongs_to_one_group(configuration):
    first, second = group("k1 k2", k1="2", k2="1"), group("k2 k3", k2="2", k3="1")
    found = configuration(agent(first, second, k2={"channel": "c"}, k3=ELSEWHERE)).pipelines
    assert list(found) == ["a-k1", "a-k3"]


def test_report_has_each_omitted_sink(imported):
    made = imported(agent(group("k1 k2 k3", k1="5", k2="10", k3="5")))
    left = {entry.original: entry.why for entry in made.entries if entry.outcome == "left out"}
    waits = "events stay in Kafka while the store is unavailable, so no backup is needed"
    del left["channel d (memory)"]
    assert left == {
        "sink group g1": f"k2 has the highest priority and receives every event: {waits}",
        "sink k1": f"k2 has priority over it in the failover group g1: {waits}",
        "sink k3": "it has the priority of k1, which is listed before it in the failover group g1: Flume ran only one",
    }
    assert not made.warnings


@pytest.mark.parametrize(
    ("found", "tied"),
    [
        (group("k3 k2 k1"), "k3, k2, k1"),
        (group("k3 k1", k3="4", k1="4"), "k3, k1"),
        (group("k1 k3 k2", k1="-1"), "k1, k3, k2"),
        (group("k1 k3 k2", k3="-1"), "k1, k3, k2"),
        (group("k1 k2 k3", k2="1"), None),
        (group("k1 k2 k3", k1="-7", k2="-8"), None),
    ],
)
def test_sinks_with_the_same_highest_priority_are_a_warning(found, tied, imported):
    sinks = {name: ELSEWHERE for name in ("k1", "k2", "k3") if name not in found["sinks"].split()}
    warnings = [
        each.message for each in imported(agent(found, **sinks)).warnings if "same priority or none" in each.message
    ]
    first = (tied or "").partition(",")[0]
    message = f"{tied} of the failover group g1 have the same priority or none: {first}, the first listed, is used"
    assert warnings == ([message] if tied else [])


@pytest.mark.parametrize(
    ("sinks", "warned", "why"),
    [
        ({"k1": ELSEWHERE, "k3": ELSEWHERE}, "k1", "each receives all events of its channel: k2, k1"),
        ({"k2": GONE}, "k1", "each receives all events of its channel: k1"),
    ],
)
def test_imported_backup_is_a_warning(sinks, warned, why, imported):
    made = imported(agent(group("k1 k2 k3", k1="5", k2="10", k3="1"), **sinks))
    message = (
        f"{warned} of the failover group g1 wrote only while k2 failed: here it receives all events of its channel"
    )
    assert message in [warning.message for warning in made.warnings]
    assert why in [entry.why for entry in made.entries]


@pytest.mark.parametrize("kind", ["load_balance", "default"])
def test_sinks_of_other_groups_share_a_channel(kind, imported):
    text = agent(group("k1 k2", kind, k1="1", k2="2"), k2={"table": "k1"}, k3=ELSEWHERE)
    why = {entry.original: entry.why for entry in imported(text).entries}
    assert why["sink group g1"] == "Spark's tasks write in parallel"
    assert why["sink k2"] == "it equals k1, on the same channel: Spark's tasks write in parallel"
    with pytest.raises(ConfigInvalidError, match="k2 and k1 read the same channel and differ"):
        imported(agent(group("k1 k2", kind, k1="1", k2="2"), k3=ELSEWHERE))


def test_failover_and_another_sink_on_the_same_channel_are_rejected(imported):
    with pytest.raises(ConfigInvalidError, match="k3 and k2 read the same channel and differ"):
        imported(agent(group("k1 k2", k1="1", k2="2")))
