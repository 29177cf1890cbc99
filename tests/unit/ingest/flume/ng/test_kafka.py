"""Flume 1: pipelines that would read as one group get its offsets by Kafka's own tool."""

import re
import shlex

import pytest

BASE = """\
a.sources = r
a.channels = c d e
a.sources.r.type = org.apache.flume.source.kafka.KafkaSource
a.sources.r.kafka.bootstrap.servers = localhost:9092, localhost:9093
a.sources.r.kafka.topics = web
a.sources.r.channels = c d e
"""
SINK = "a.sinks.{0}.type = hbase2\na.sinks.{0}.channel = {1}\na.sinks.{0}.table = t\na.sinks.{0}.columnFamily = f\n"
ONE = BASE + "a.sinks = k1\n" + SINK.format("k1", "c")
THREE = BASE + "a.sinks = k1 k2 k3\n" + "".join(map(SINK.format, ("k1", "k2", "k3"), "cde"))


def said_over(made, name):
    """The comment over the source of a pipeline, its lines as they are."""
    pipeline = made.yaml[made.yaml.index(f"\n  {name}:\n") :]
    return re.findall(r"^    # (.*)", pipeline[: pipeline.index("    source:")], re.MULTILINE)


def test_a_pipeline_alone_goes_on_as_the_group(imported):
    said = "the group is Flume's: `ingest run --start-from group` goes on where Flume has stopped"
    assert said_over(imported(ONE), "a-k1") == [said]


def test_one_of_several_says_whose_offsets_are_to_be_copied(imported):
    first = " ".join(said_over(imported(THREE), "a-k1"))
    assert first.startswith("the group is Flume's: once its offsets are copied for a-k2, a-k3, as is told there, ")
    assert first.endswith("`ingest run --start-from group` goes on where Flume has stopped")


@pytest.mark.parametrize(
    ("more", "group", "login"),
    [
        ("", "flume", []),
        ("a.sources.r.kafka.consumer.group.id = web log's\n", "web log's", []),
        ("a.sources.r.kafka.consumer.security.protocol = SSL\n", "flume", ["--command-config", "client.properties"]),
        (
            "a.sources.r.kafka.consumer.security.protocol = SASL_PLAINTEXT\n",
            "flume",
            ["--command-config", "client.properties"],
        ),
    ],
)
def test_the_others_have_the_commands_with_their_names(more, group, login, imported, configuration):
    made = imported(THREE + more)
    tool = ["kafka-consumer-groups.sh", "--bootstrap-server", "localhost:9092", *login, "--reset-offsets"]
    copied = ["--group", group, "--all-topics", "--to-current", "--dry-run", "--export", ">", "offsets.csv"]
    for name in ("a-k2", "a-k3"):
        own = configuration(THREE + more).pipelines[name].source.settings.group
        assert own == f"{group}-{name}"
        expected = [*tool, *copied, *tool, "--group", own, "--from-file", "offsets.csv", "--execute"]
        head, *lines = said_over(made, name)
        assert head == "Flume's group is that of a-k1; before the first start copy its offsets, the agent stopped:"
        assert shlex.split("\n".join(lines).replace("\\\n", "")) == expected
        (warning,) = [each for each in made.warnings if own in each.message]
        assert (
            warning.message == f'pipeline {name} reads as the group "{own}", without offsets: "{group}" is that of a-k1'
        )
        asked, _, commands = warning.hint.partition(": ")
        assert asked == "before the first start copy them, with the agent stopped"
        assert [word for word in shlex.split(commands) if word != "&&"] == expected


def test_a_variable_stays_one(imported):
    made = imported(THREE + "a.sources.r.kafka.consumer.group.id = ${env:GROUP}\n")
    assert '--group "${GROUP}-a-k2" --from-file offsets.csv --execute' in said_over(made, "a-k2")
