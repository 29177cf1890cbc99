"""Flume 1: pipelines with the same consumer group, whose offsets are copied with Kafka's own tool."""

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
    """The lines of the comment above the source of a pipeline."""
    pipeline = made.yaml[made.yaml.index(f"\n  {name}:\n") :]
    return re.findall(r"^    # (.*)", pipeline[: pipeline.index("    source:")], re.MULTILINE)


def test_single_pipeline_resumes_with_flumes_group(imported):
    said = "Flume's group: `attr2hbase run --start-from group` resumes where Flume stopped"
    assert said_over(imported(ONE), "a-k1") == [said]


def test_comment_lists_pipelines_that_need_the_offsets(imported):
    first = " ".join(said_over(imported(THREE), "a-k1"))
    assert first.startswith("Flume's group: once its offsets are copied for a-k2, a-k3, as described there, ")
    assert first.endswith("`attr2hbase run --start-from group` resumes where Flume stopped")


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
def test_other_pipelines_have_commands_that_copy_the_offsets(more, group, login, imported, configuration):
    made = imported(THREE + more)
    tool = ["kafka-consumer-groups.sh", "--bootstrap-server", "localhost:9092", *login, "--reset-offsets"]
    copied = ["--group", group, "--all-topics", "--to-current", "--dry-run", "--export", ">", "offsets.csv"]
    for name in ("a-k2", "a-k3"):
        own = configuration(THREE + more).pipelines[name].source.settings.group
        assert own == f"{group}-{name}"
        expected = [*tool, *copied, *tool, "--group", own, "--from-file", "offsets.csv", "--execute"]
        head, *lines = said_over(made, name)
        assert head == "a-k1 uses Flume's group; before the first start, copy its offsets while the agent is stopped:"
        assert shlex.split("\n".join(lines).replace("\\\n", "")) == expected
        (warning,) = [each for each in made.warnings if own in each.message]
        assert warning.message == f'pipeline {name} reads as the group "{own}", without offsets: a-k1 uses "{group}"'
        asked, _, commands = warning.hint.partition(": ")
        assert asked == "before the first start, copy them while the agent is stopped"
        assert [word for word in shlex.split(commands) if word != "&&"] == expected


def test_variable_is_kept(imported):
    made = imported(THREE + "a.sources.r.kafka.consumer.group.id = ${env:GROUP}\n")
    assert '--group "${GROUP}-a-k2" --from-file offsets.csv --execute' in said_over(made, "a-k2")


LOGGER = "a.sinks.log.type = logger\na.sinks.log.channel = {}\n"
HELD = (
    "a.channels.c.type = kafka\na.channels.c.kafka.bootstrap.servers = localhost:9092\n"
    "a.channels.c.kafka.consumer.group.id = held\n"
)
OF_CHANNEL = ONE.replace("org.apache.flume.source.kafka.KafkaSource", "avro") + HELD
ELSEWHERE = (
    "b.sources = r\nb.channels = c\nb.sinks = log\nb.sources.r.type = kafka\nb.sources.r.channels = c\n"
    "b.sources.r.kafka.bootstrap.servers = localhost:9092 localhost:9093\nb.sources.r.kafka.topics = other\n"
    "b.sinks.log.type = hdfs\nb.sinks.log.channel = c\n"
)


class TestWhatStaysInFlume:
    @pytest.mark.parametrize(
        ("text", "group", "sinks", "agent", "line"),
        [
            (ONE + LOGGER.format("d"), "flume", "log (logger)", "a", "a.sources.r.type = "),
            (ONE + LOGGER.format("c"), "flume", "log (logger)", "a", "a.sources.r.type = "),
            (THREE + LOGGER.format("e"), "flume", "log (logger)", "a", "a.sources.r.type = "),
            (OF_CHANNEL + LOGGER.format("c"), "held", "log (logger)", "a", "a.channels.c.type = "),
            (ONE + ELSEWHERE, "flume", "log (hdfs)", "b", "b.sources.r.type = "),
        ],
    )
    def test_needs_a_group_of_its_own(self, text, group, sinks, agent, line, imported):
        made = imported(text.replace("a.sinks = ", "a.sinks = log "))
        (warning,) = [each for each in made.warnings if "stay in Flume" in each.message]
        assert warning.message == (
            f'the group "{group}" is also used by sinks that stay in Flume: {sinks} of agent {agent}; while an agent '
            "uses it, pipeline a-k1 cannot commit its offsets"
        )
        assert warning.hint.startswith(f"there set kafka.consumer.group.id = {group}-{agent}-flume, and copy ")
        assert warning.hint.endswith(f"--group {group}-{agent}-flume --from-file offsets.csv --execute")
        assert made.report.sources["old.conf"][warning.location.line - 1].startswith(line)

    def test_with_a_variable_in_its_group(self, imported):
        text = ONE.replace("a.sinks = ", "a.sinks = log ") + LOGGER.format("d")
        made = imported(text + "a.sources.r.kafka.consumer.group.id = ${env:GROUP}\n")
        assert any(
            'the group "${GROUP}" is also used by sinks that stay in Flume' in each.message for each in made.warnings
        )

    @pytest.mark.parametrize(
        "text",
        [
            ONE + ELSEWHERE + "b.sources.r.kafka.consumer.group.id = other\n",
            OF_CHANNEL + LOGGER.format("d"),
            (ONE + LOGGER.format("c") + "a.sinkgroups = g\na.sinkgroups.g.sinks = k1 log\n"
             "a.sinkgroups.g.processor.type = failover\na.sinkgroups.g.processor.priority.k1 = 9\n"),
            ONE,
        ],
    )  # fmt: skip
    def test_is_no_warning_with_another_group_or_as_a_backup(self, text, imported):
        made = imported(text.replace("a.sinks = ", "a.sinks = log "))
        assert not any("stay in Flume" in each.message for each in made.warnings)


@pytest.mark.parametrize(
    ("text", "channel", "why"),
    [
        (ONE + "a.channels.c.type = memory\n", "channel c (memory)",
         "before the migration stop its sources, wait until its ChannelSize is 0, then stop the agent"),
        (ONE + HELD, "channel c (kafka)",
         "before the migration stop its sources, wait until the lag of its group is 0, then stop the agent"),
        (OF_CHANNEL, "channel (kafka)",
         "stop the agent before the migration: the pipeline starts at the offsets of the group"),
    ],
)  # fmt: skip
def test_report_describes_how_to_drain_a_channel(text, channel, why, imported):
    (found,) = [entry.why for entry in imported(text).entries if entry.original == channel]
    assert found.endswith(f"; {why}")
