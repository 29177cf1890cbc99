"""Flume 1: sources, channels, interceptors and serializers."""

import re

import pytest

from ingest.api import ConfigInvalidError
from ingest.catalog import Catalog
from ingest.config import bind, read_text
from ingest.config.nodes import plain
from ingest.flume.ng.kafka import GROUP_OF_FLUME
from tests.support.flume_agent import BASE, DEPOSIT, EVENT, REGEX, changed, interceptor

OWN = {"cf:offset": "7", "cf:partition": "3", "cf:timestamp": "5", "cf:topic": "web", "cf:key": "k", "cf:rest": "text"}


@pytest.mark.parametrize(
    ("options", "event", "expected"),
    [
        ({"type": "static"}, {}, {"key": "k"}),
        ({"type": "static", "key": "dc", "value": "100% $${x} ${ y }"}, {}, {"dc": "100% ${x} ${ y }"}),
        ({"type": "static", "key": "topic", "value": "x", "preserveExisting": "false"}, {}, {"topic": "x"}),
        ({"type": "static", "key": "topic", "value": "x"}, {}, {"topic": "web"}),
        ({"type": "timestamp"}, {}, {"timestamp": "5"}),
        ({"type": "org.apache.flume.interceptor.TimestampInterceptor$Builder", "headerName": "at"}, {}, {"at": "5"}),
        ({"type": "host", "hostHeader": "agent"}, {}, {"agent": "localhost"}),
        ({"type": "regex_extractor", "regex": "(\\\\w)(\\\\d)", "serializers": "s1 s2", "serializers__s1__name": "x",
          "serializers__s2__name": "y"}, {}, {"x": "r", "y": "1"}),
        ({"type": "regex_extractor", "regex": "(z)", "serializers": "s1", "serializers__s1__name": "x"}, {}, {}),
        ({"type": "regex_extractor", "regex": "(\\\\w)", "serializers": "s1 s2", "serializers__s1__name": "x",
          "serializers__s2__name": "y"}, {}, {"x": "r"}),
        ({"type": "regex_extractor", "regex": "(\\\\d+-\\\\d+)", "serializers": "s1", "serializers__s1__name": "x",
          "serializers__s1__type": "org.apache.flume.interceptor.RegexExtractorInterceptorMillisSerializer",
          "serializers__s1__pattern": "yyyy-DDD"}, {"body": "r1 1970-002 text"},
         {"x": "86400000", "rest": "1970-002 text"}),
        ({"type": "search_replace", "searchPattern": "t(?=e)", "replaceString": "T"}, {}, {"rest": "Text"}),
        ({"type": "search_replace", "searchPattern": "[xt]+"}, {}, {"rest": "e"}),
        ({"type": "search_replace", "searchPattern": "(t)(?<v>e)(z)?", "replaceString": "$2$13\\\\$${v}$3"}, {},
         {"rest": "et3$ext"}),
        ({"type": "remove_header", "withName": "topic"}, {}, {"topic": None}),
        ({"type": "remove_header", "fromList": "topic , offset"}, {}, {"topic": None, "offset": None}),
        ({"type": "remove_header", "fromList": "topic;offset", "fromListSeparator": ";"}, {},
         {"topic": None, "offset": None}),
        ({"type": "remove_header", "matching": "(par|off).*"}, {}, {"partition": None, "offset": None}),
        ({"type": "regex_filter"}, {}, {}),
        ({"type": "regex_filter", "regex": "te.t"}, {}, {}),
    ],
)  # fmt: skip
def test_interceptor_changes_the_event_as_in_flume(options, event, expected, cells):
    row, found = cells(interceptor(**options), EVENT | event)
    wanted = OWN | {f"cf:{name}": value for name, value in expected.items()}
    assert (row, found) == ("r1", {name: value for name, value in wanted.items() if value is not None})


MILLIS = "org.apache.flume.interceptor.RegexExtractorInterceptorMillisSerializer"


def millis(name, pattern, regex):
    """An extractor of a date and the word after it."""
    return interceptor(
        type="regex_extractor", regex=regex, serializers="s1 s2", serializers__s1__name=name,
        serializers__s1__type=MILLIS, serializers__s1__pattern=pattern, serializers__s2__name="level",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["timestamp", "at"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("r1 1970-01-02 WARN", {"NAME": "86400000", "level": "WARN"}),
        ("r1 \tat java.lang.Thread.run", {}),
    ],
)
def test_date_is_set_only_if_the_line_matches(name, body, expected, cells):
    text = millis(name, "yyyy-MM-dd", "(\\\\d+-\\\\d+-\\\\d+) (\\\\w+)")
    wanted = {"rest": body[3:]} | {key.replace("NAME", name): value for key, value in expected.items()}
    assert cells(text, EVENT | {"body": body}) == ("r1", OWN | {f"cf:{key}": value for key, value in wanted.items()})


@pytest.mark.parametrize(
    ("pattern", "body", "expected", "lacks"),
    [
        ("MMM d HH:mm", "Jan 2 00:01", 946771260000, "no year: 2000 is used"),
        ("DDD", "2", 946771200000, "no year: 2000 is used"),
        ("HH:mm", "00:01", 60000, "no year, month, day: 1970-01-01 is used"),
        ("yyyy-MM", "1970-02", 31 * 86400000, "no day: 01 is"),
        ("yyyy", "1971", 365 * 86400000, "no month, day: 01-01 is"),
        ("d HH", "2 01", 946774800000, "no year, month: 2000-01 is"),
    ],
)
def test_missing_parts_of_a_date_are_those_of_joda(pattern, body, expected, lacks, cells, imported):
    text = millis("at", pattern, "^r1 (.*) (\\\\w+)$")
    assert cells(text, EVENT | {"body": f"r1 {body} WARN"})[1]["cf:at"] == str(expected)
    (warning,) = imported(text).warnings
    assert (warning.location.line, lacks in warning.message) == (1 + text[: text.index("s1.pattern")].count("\n"), True)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("dd/MMM/yyyy:HH:mm:ss Z", "26/July/2010:11:48:05 +02", "1280137685000"),
        ("yyyy-MM-dd", "110-06-28", "-58680547200000"),
        ("yyyy-MM-dd HH:mm", "2010-07-26  11:48", "bad_time"),
        ("yy-MM-dd", "20-01-01", "-1577923200000"),  # the record is of 1970
        ("yyyyMMddHHmmss", "20100726114805", "1280144885000"),
    ],
)
def test_date_has_the_time_of_joda(pattern, text, expected, outcomes):
    agent = millis("at", pattern, "^r1 (.*) (\\\\w+)$")
    (line,) = outcomes(agent, EVENT | {"body": f"r1 {text} WARN"})
    found = line["error"]["code"] if line["error"] else {cell[1]: cell[2] for cell in line["puts"][0]["cells"]}
    assert expected == (found if isinstance(found, str) else found["at"])


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd ww", "yyyy-MM-dd zzzz", "yyyy-MM-dd Q", "'T'", "", "yyyy.MM.dd G"])
def test_invalid_date_pattern_is_an_error_with_a_place(pattern, imported):
    text = millis("at", pattern, "(.*) (.*)")
    with pytest.raises(ConfigInvalidError) as caught:
        imported(text)
    (problem,) = caught.value.report.errors
    assert problem.location.line == 1 + text[: text.index("s1.pattern")].count("\n")
    assert f'"{pattern}"' in problem.message


@pytest.mark.parametrize("name", ["timestamp", "at"])
def test_row_key_with_the_time_uses_that_of_the_record(name, cells, imported):
    text = millis(name, "yyyy-MM-dd", "(\\\\d+-\\\\d+-\\\\d+) (\\\\w+)").replace(DEPOSIT, "")
    text += "a.sinks.k.serializer.suffix = timestamp\n"
    assert cells(text, EVENT | {"body": "1970-01-02 WARN"}) == ("default5", {"cf:pCol": "1970-01-02 WARN"})
    (entry,) = (entry for entry in imported(text).entries if entry.original == "sink k")
    assert "the time is the record's, not the clock's" in entry.why


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"regex": "it's"}, False),
        ({"regex": "^r1"}, True),
        ({"regex": "text", "excludeEvents": "true"}, False),
        ({"regex": "it's", "excludeEvents": "true"}, True),
    ],
)
def test_regex_filter_keeps_or_drops_matching_events(options, kept, outcomes):
    (line,) = outcomes(interceptor(type="regex_filter", **options), EVENT)
    assert (line["outcome"], line["reason"]) == (("kept", None) if kept else ("dropped", "regex_filter"))


def test_uuids_are_the_same_on_a_replay(cells):
    text = interceptor(type="org.apache.flume.sink.solr.morphline.UUIDInterceptor$Builder", prefix="x-")
    first, second = cells(text, EVENT), cells(text, EVENT)
    assert first == second
    assert re.fullmatch(r"x-[0-9a-f-]{36}", first[1]["cf:id"])


@pytest.mark.parametrize(
    ("more", "row", "expected"),
    [
        ({}, r"default[0-9a-f-]{36}", {"cf:pCol": "r1 text"}),
        ({"rowPrefix": "p%", "suffix": "timestamp"}, "p%5", {"cf:pCol": "r1 text"}),
        ({"suffix": "nano"}, "default5000703", {"cf:pCol": "r1 text"}),
        ({"suffix": "random", "payloadColumn": "body"}, r"default[0-9a-f-]{36}", {"cf:body": "r1 text"}),
    ],
)
@pytest.mark.parametrize("sink", ["hbase2", "hbase", "HBase2", "HBASE", "org.apache.flume.sink.hbase2.HBase2Sink"])
def test_simple_serializer_writes_the_same_cells(more, row, expected, sink, cells):
    text = changed(BASE, "a.sinks.k.type", sink)
    for name, value in more.items():
        text += f"a.sinks.k.serializer.{name} = {value}\n"
    found_row, found = cells(text, EVENT)
    assert re.fullmatch(row, found_row)
    assert found == expected


@pytest.mark.parametrize(
    ("more", "body", "expected"),
    [
        ({}, "r1 text", ("r1", {"cf:rest": "text"})),
        ({}, "r1 a\nb", ("r1", {"cf:rest": "a\nb"})),
        ({}, "r1", "no_match"),
        ({"regex": "(R1) (.*)", "regexIgnoreCase": "true"}, "r1 x", ("r1", {"cf:rest": "x"})),
        ({"regex": "(\\\\S+)(?: (.*))?"}, "r1", "unmatched_group"),
        ({"rowKeyIndex": "-1", "colNames": "a,b"}, "r1 x", ("5-web:3:7", {"cf:a": "r1", "cf:b": "x"})),
        ({"regex": "(.*)", "colNames": "payload", "rowKeyIndex": "-1"}, "", ("5-web:3:7", {"cf:payload": ""})),
    ],
)
def test_regex_serializer_writes_the_same_cells(more, body, expected, cells):
    text = BASE + REGEX
    for name, value in more.items():
        text = changed(text, f"a.sinks.k.serializer.{name}", value)
    assert cells(text, EVENT | {"body": body}) == expected


class TestHeadersOfTheSource:
    def test_are_only_those_that_flume_set(self, cells):
        event = EVENT | {"attributes": {"trace": "1", "topic": "other"}}
        assert cells(BASE + DEPOSIT, event) == ("r1", OWN)

    def test_may_be_mapped(self, cells):
        text = BASE + DEPOSIT + "a.sources.r.header.id = trace\na.sources.r.header.from = host\n"
        event = EVENT | {"attributes": {"trace": "1"}, "host": "h1"}
        assert cells(text, event) == ("r1", OWN | {"cf:id": "1", "cf:from": "h1"})

    def test_may_be_renamed_or_disabled(self, cells):
        without = {name: value for name, value in OWN.items() if name != "cf:topic"}
        assert cells(BASE + DEPOSIT + "a.sources.r.topicHeader = of\n", EVENT)[1] == without | {"cf:of": "web"}
        assert cells(BASE + DEPOSIT + "a.sources.r.setTopicHeader = false\n", EVENT)[1] == without

    def test_of_a_flume_event_are_kept(self, cells):
        text = BASE + DEPOSIT + "a.sources.r.useFlumeEventFormat = true\n"
        event = EVENT | {"attributes": {"trace": "1", "topic": "other"}}
        assert cells(text, event) == ("r1", OWN | {"cf:trace": "1", "cf:topic": "other"})


def source_of(configuration, text):
    (pipeline,) = configuration(text).pipelines.values()
    return pipeline.source.settings


class TestKafka:
    def test_defaults_are_flumes(self, configuration):
        found = source_of(configuration, BASE)
        assert (found.brokers, found.topics, found.group, found.start.text, found.format.value) == (
            "localhost:9092",
            ["web"],
            "flume",
            "latest",
            "raw",
        )

    def test_all_settings_are_imported(self, configuration):
        text = BASE + (
            "a.sources.r.kafka.topics.regex = web-.*\n"
            "a.sources.r.kafka.consumer.group.id = g\n"
            "a.sources.r.kafka.consumer.auto.offset.reset = earliest\n"
            "a.sources.r.kafka.consumer.fetch.max.bytes = 1000\n"
            "a.sources.r.useFlumeEventFormat = true\n"
        )
        found = source_of(configuration, text)
        assert (found.topics, found.topics_pattern, found.group, found.start.text, found.format.value) == (
            None,
            "web-.*",
            "g",
            "earliest",
            "flume_avro",
        )
        assert found.options == {"fetch.max.bytes": "1000"}

    @pytest.mark.parametrize("written", ["KAFKA", "Kafka", "org.apache.flume.source.kafka.KafkaSource"])
    def test_type_ignores_case(self, written, configuration):
        text = changed(changed(BASE, "a.sources.r.type", written), "a.channels.c.type", "MEMORY")
        assert source_of(configuration, text).topics == ["web"]

    def test_former_names_are_imported(self, configuration):
        text = BASE.replace("kafka.topics", "topic").replace("kafka.bootstrap.servers", "brokerList")
        found = source_of(configuration, text + "a.sources.r.groupId = old\n")
        assert (found.topics, found.group, found.brokers) == (["web"], "old", "localhost:9092")

    @pytest.mark.parametrize(
        ("protocol", "tls", "sasl", "insecure"),
        [
            ("PLAINTEXT", False, False, True),
            ("SSL", True, False, False),
            ("SASL_SSL", True, True, False),
            ("SASL_PLAINTEXT", False, True, True),
        ],
    )
    @pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "GSSAPI"])
    def test_security_is_imported_without_the_password(
        self, protocol, tls, sasl, insecure, mechanism, imported, configuration
    ):
        text = changed(BASE, "a.sources.r.kafka.bootstrap.servers", "k1:9092, k2:9092")
        text += f"a.sources.r.kafka.consumer.security.protocol = {protocol}\n"
        text += f"a.sources.r.kafka.consumer.sasl.mechanism = {mechanism}\n"
        text += 'a.sources.r.kafka.consumer.sasl.jaas.config = X required username="ann" password="hidden";\n'
        found = source_of(configuration, text)
        security = found.security
        assert found.brokers == "k1:9092,k2:9092"
        assert (security.tls is not None, security.sasl is not None, security.insecure) == (tls, sasl, insecure)
        result = imported(text)
        assert "hidden" not in result.yaml
        assert result.warnings
        if sasl and mechanism != "GSSAPI":
            assert security.sasl.username == "ann"

    def test_password_is_not_in_the_excerpt_of_a_problem(self, imported):
        shown = imported(BASE + "a.sources.r.kafka.consumer.ssl.truststore.password = hidden\n").report.to_text()
        assert "| a.sources.r.kafka.consumer.ssl.truststore.password = ***\n" in shown
        assert "hidden" not in shown

    def test_channel_that_is_a_topic(self, configuration, imported):
        text = changed(changed(BASE, "a.sources.r.type", "avro"), "a.channels.c.type", "kafka")
        text = changed(text, "a.channels.c.type", "org.apache.flume.channel.kafka.KafkaChannel")
        text += "a.channels.c.kafka.bootstrap.servers = localhost:1\na.channels.c.kafka.topic = held\n"
        found = source_of(configuration, text)
        assert (found.topics, found.format.value, found.group) == (["held"], "flume_avro", "flume")
        assert any(entry.original == "source r (avro)" for entry in imported(text).entries)

    @pytest.mark.parametrize(
        ("more", "start"),
        [
            ("", "earliest"),
            ("kafka.consumer.auto.offset.reset = latest", "latest"),
            ("kafka.consumer.auto.offset.reset = earliest", "earliest"),
            ("readSmallestOffset = false", "latest"),
            ("readSmallestOffset = true", "earliest"),
            ("readSmallestOffset = false\na.channels.c.kafka.consumer.auto.offset.reset = earliest", "earliest"),
        ],
    )
    def test_start_of_a_channel(self, more, start, configuration, imported):
        text = changed(changed(BASE, "a.sources.r.type", "avro"), "a.channels.c.type", "kafka")
        text += "a.channels.c.kafka.bootstrap.servers = localhost:1\n" + f"a.channels.c.{more}\n" * bool(more)
        assert source_of(configuration, text).start.text == start
        assert f"    # {GROUP_OF_FLUME}\n" in imported(text).yaml

    def test_channel_after_a_kafka_source_is_not_read(self, configuration):
        text = changed(BASE, "a.channels.c.type", "org.apache.flume.channel.kafka.KafkaChannel")
        assert source_of(configuration, text).topics == ["web"]

    def test_other_sources_become_a_placeholder(self, configuration, imported):
        text = changed(BASE, "a.sources.r.type", "netcat")
        assert source_of(configuration, text).topics == ["a-k"]
        assert any(entry.original == "source r (netcat)" for entry in imported(text).entries)


class TestSeveral:
    def test_equal_sinks_of_a_channel_become_one(self, configuration, imported):
        text = changed(BASE, "a.sinks", "k k2") + BASE[BASE.index("a.sinks.k.type") :].replace("sinks.k.", "sinks.k2.")
        assert list(configuration(text).pipelines) == ["a-k"]
        assert any("in parallel" in entry.why for entry in imported(text).entries)

    def test_different_sinks_of_a_channel_are_rejected(self, imported):
        text = changed(BASE, "a.sinks", "k k2") + BASE[BASE.index("a.sinks.k.type") :].replace("sinks.k.", "sinks.k2.")
        with pytest.raises(ConfigInvalidError, match="read the same channel and differ"):
            imported(changed(text, "a.sinks.k2.table", "u"))

    def test_each_channel_of_a_source_is_a_pipeline(self, configuration, imported):
        text = changed(changed(BASE, "a.sinks", "k k2 log"), "a.sources.r.channels", "c c2")
        text += BASE[BASE.index("a.sinks.k.type") :].replace("sinks.k.", "sinks.k2.").replace("= c\n", "= c2\n")
        text += "a.channels.c2.type = file\na.sinks.log.type = logger\na.sinks.log.channel = c\n"
        bound = configuration(text)
        assert {name: pipeline.source.settings.group for name, pipeline in bound.pipelines.items()} == {
            "a-k": "flume",
            "a-k2": "flume-a-k2",
        }
        made = imported(text)
        assert any("flume-a-k2" in warning.message for warning in made.warnings)
        assert made.yaml[: made.yaml.index("a-k2:")].count("# Flume's group:") == 1
        assert "# Flume's group:" not in made.yaml[made.yaml.index("a-k2:") :]

    def test_each_source_of_a_channel_is_a_pipeline(self, configuration):
        text = changed(BASE, "a.sources", "r r2") + "a.sources.r2.type = netcat\na.sources.r2.channels = c\n"
        assert list(configuration(text).pipelines) == ["a-r-k", "a-r2-k"]

    def test_each_agent_has_its_own(self, configuration):
        other = BASE.replace("a.", "b.", -1)
        other = re.sub(r"^a\.", "b.", BASE, flags=re.MULTILINE) + "b.sources.r.kafka.consumer.group.id = g\n"
        assert list(configuration(BASE + other).pipelines) == ["a-k", "b-k"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (changed(BASE, "a.sinks.k.type", "logger"), "1:1", "there is no HBase sink in this file"),
        (
            changed(BASE, "a.sinks.k.type", "logger") + "a.sinks.k.table = t\n",
            "1:1",
            "there is no HBase sink in this file",
        ),
        (changed(BASE, "a.sinks.k.table", ""), "9:1", 'the sink needs "table"'),
        (changed(BASE, "a.sinks.k.channel", "d"), "10:1", 'no source feeds the channel "d"'),
        (changed(BASE, "a.sources.r.kafka.topics", ""), "4:1", "the source names no topics"),
        (changed(BASE, "a.sources.r.kafka.bootstrap.servers", ""), "4:1", "no brokers are named"),
        (changed(BASE, "a.sources.r.kafka.bootstrap.servers", "k1"), "5:1", "is not a broker"),
        (changed(BASE, "a.sources.r.kafka.topics", "a, b!"), "6:1", '"b!" is not the name of a topic'),
        (changed(BASE, "a.sinks.k.table", "t%{x}"), "11:1", '"t%{x}" is not the name of a table'),
        (changed(BASE + REGEX, "a.sinks.k.table", "a b"), "11:1", '"a b" is not the name of a table'),
        (changed(BASE, "a.sinks.k.columnFamily", "c:f"), "12:1", "cannot be the name of a family"),
        (
            changed(changed(BASE, "a.sources.r.type", "avro"), "a.channels.c.type", "kafka")
            + "a.channels.c.kafka.bootstrap.servers = k1\n",
            "13:1",
            "is not a broker",
        ),
        (
            interceptor(
                type="regex_extractor",
                regex="(a)(b)",
                serializers="s t",
                serializers__s__name="x",
                serializers__t__name="x",
            ),
            "21:1",
            "listed twice",
        ),
        (changed(BASE, "a.sinks.k.serializer.payloadColumn", ""), "13:1", "a column for the body is required"),
        (changed(BASE, "a.sources.r.selector.type", "com.x.Mine"), "13:1", 'the selector "com.x.Mine" is not imported'),
        (
            changed(BASE, "a.sources.r.selector.type", "multiplexing"),
            "13:1",
            "the selector sends no events to the channel",
        ),
        (
            changed(BASE, "a.sources.r.type", "syslogtcp")
            + "a.sources.r.selector.type = multiplexing\na.sources.r.selector.header = host\n",
            "14:1",
            "a core field of the event",
        ),
        (changed(BASE + REGEX, "a.sinks.k.serializer.colNames", "a"), "15:1", "Flume dropped every event"),
        (changed(BASE + REGEX, "a.sinks.k.serializer.rowKeyIndex", "1"), "16:1", "is not the place of ROW_KEY"),
        (changed(BASE + REGEX, "a.sinks.k.serializer.rowKeyIndex", "x"), "16:1", "is a whole number"),
        (changed(BASE + REGEX, "a.sinks.k.serializer.regex", "(a"), "14:1", "missing )"),
        (interceptor(type="morphline"), "19:1", "is not imported"),
        (interceptor(regex="a"), "18:1", 'the interceptor "i" has no type'),
        (
            changed(interceptor(type="static"), "a.sources.r.interceptors", "i j"),
            "18:1",
            'the interceptor "j" has no type',
        ),
        (interceptor(type="regex_extractor", regex="(a)"), "19:1", "needs serializers"),
        (
            interceptor(type="search_replace", searchPattern="(a)", replaceString="$2"),
            "21:1",
            "is not a group of the expression",
        ),
        (interceptor(type="regex_filter", regex="("), "20:1", "unterminated"),
    ],
)
def test_part_that_cannot_be_imported_is_an_error_with_a_place(text, place, message, imported):
    with pytest.raises(ConfigInvalidError) as caught:
        imported(text)
    found = {f"{each.location.line}:{each.location.column}": each.message for each in caught.value.report.errors}
    assert message in found[place]


MISTAKES = (
    changed(changed(BASE + REGEX, "a.sinks.k.serializer.regex", "(\\\\S+) (.*"), "a.sources.r.kafka.topics", "t 2!")
    .replace("k.channel = ", "k.channels = ").replace("k.table", "k.tabel").replace("Index = 0", "Index = 4")
    + "a.sources.r.interceptors = i j l m\n"
    "a.sources.r.interceptors.i.type = regex_extractor\n"
    "a.sources.r.interceptors.i.regex = (\\\\d+) (\\\\w+)\n"
    "a.sources.r.interceptors.i.serializers = s1 s2\n"
    "a.sources.r.interceptors.i.serializers.s1.name = n\n"
    "a.sources.r.interceptors.j.type = regx_filter\n"
    "a.sources.r.interceptors.l.type = static\n"
    "a.sources.r.interceptors.m.type = search_replace\n"
    "a.sources.r.interceptors.m.searchPattern = (\\\\d+\n"
    "a.sources.r.interceptors.n.type = static\n"
)  # fmt: skip


def lines_of(found, text):
    return [text.splitlines()[each.location.line - 1].partition(" = ")[0] for each in found]


class TestAllAtOnce:
    def test_errors_of_a_sink_do_not_hide_those_of_its_source(self, imported):
        with pytest.raises(ConfigInvalidError) as caught:
            imported(MISTAKES)
        assert {line.removeprefix("a.") for line in lines_of(caught.value.report.errors, MISTAKES)} == {
            "sources.r.kafka.topics",
            "sinks.k.channels",
            "sinks.k.tabel",
            "sinks.k.serializer.regex",
            "sinks.k.serializer.rowKeyIndex",
            "sources.r.interceptors.i.serializers",
            "sources.r.interceptors.j.type",
            "sources.r.interceptors.m.searchPattern",
        }
        assert any("(column 7 of the expression)" in each.message for each in caught.value.report.errors)

    def test_consequences_of_an_error_are_not_reported(self, imported):
        text = BASE.replace("a.sinks.k.table = t\n", "").replace("a.sources.r.kafka.topics = web\n", "")
        with pytest.raises(ConfigInvalidError) as caught:
            imported(text.replace("a.sinks.k.columnFamily = cf\n", ""))
        assert lines_of(caught.value.report.errors, text) == ["a.sources.r.type", "a.sinks.k.type", "a.sinks.k.type"]

    def test_sinks_without_a_channel(self, imported):
        text = changed(BASE, "a.sinks", "k l").replace("k.channel = c", "k.channels = c")
        text += "a.sinks.l.type = hbase2\na.sinks.l.table = t\n"
        with pytest.raises(ConfigInvalidError) as caught:
            imported(text)
        assert [each.message for each in caught.value.report.errors] == [
            'the sink needs "channel"', 'the sink needs "channel"', 'the sink needs "columnFamily"',
        ]  # fmt: skip
        assert lines_of(caught.value.report.errors, text) == ["a.sinks.k.channels", "a.sinks.l.type", "a.sinks.l.type"]


def test_comments_are_kept(imported):
    text = "# the agent\n" + BASE.replace("a.sinks.k.type", "# the table\na.sinks.k.type") + "# at the end\n"
    lines = [line.strip() for line in imported(text).yaml.splitlines()]
    assert lines[lines.index("a-k:") - 1] == "# the agent"
    assert {"# the table", "# at the end"} <= set(lines[lines.index("sinks:") :])


def test_report_names_what_is_not_needed(imported):
    text = BASE + "a.sinks.k.batchSize = 100\na.sinks.k.zookeeperQuorum = z1\na.sources.r.kafka.consumer.x.y = 1\n"
    why = {entry.original: entry.why for entry in imported(text).entries}
    assert "not needed: batchSize" in why["sink k"]
    assert "a crash loses nothing" in why["channel c (memory)"]


class TestWhatIsLeftOut:
    def test_each_part_without_an_imported_sink_is_reported(self, imported):
        text = changed(changed(changed(BASE, "a.sources", "r s"), "a.channels", "c m"), "a.sinks", "k l n") + (
            "a.sources.s.type = spooldir\na.sources.s.channels = m\na.sources.s.interceptors = t\n"
            "a.sources.s.interceptors.t.type = timestamp\na.sources.s.selector.type = multiplexing\n"
            "a.channels.m.type = memory\na.sinks.l.type = hdfs\na.sinks.n.type = hive\na.sinks.n.channel = m\n"
            "a.sources.old.type = exec\n"
        )
        found = {entry.original: entry.why for entry in imported(text).entries if entry.outcome == "left out"}
        assert found == {
            "source s (spooldir)": "no imported sink reads its channels",
            "interceptor t (timestamp)": "the source s is left out",
            "selector (multiplexing)": "the source s is left out",
            "channel m (memory)": "no imported sink reads it",
            "sink l (hdfs)": "only HBase sinks are imported",
            "sink n (hive)": "only HBase sinks are imported",
            "source old": "it is not in a.sources: Flume did not start it",
        }


CELLS_INSTEAD = (
    "write decorators that set the attribute 2hb_ (the row key) and attributes 2hb_FAMILY:QUALIFIER (the cells) as the "
    "serializer did"
)
DECORATOR_INSTEAD = "write a custom decorator in Python that does what it did, or remove this one"
SINK_INSTEAD = "write a sink attr2hbase, hbase or one of your own, or remove this pipeline if the sink stays in Flume"
FILTER_BEFORE = "interceptors = f i\na.sources.r.interceptors.f.type = regex_filter\n"
DATES = interceptor(
    type="regex_extractor",
    regex="(a)(b)",
    serializers="s t",
    serializers__s__name="x",
    serializers__t__name="y",
    serializers__s__type="com.x.Mine",
    serializers__s__zone="Z",
)


class TestByHand:
    """Unknown classes become placeholders that `attr2hbase validate` rejects; all other parts are translated."""

    @pytest.mark.parametrize(
        ("text", "place", "instead", "decorators", "sinks"),
        [
            (
                interceptor(type="com.x.Mine", depth="3").replace("interceptors = i\n", FILTER_BEFORE),
                "20:1",
                DECORATOR_INSTEAD,
                ["filter", "not_imported", "rename", "regex"],
                ["attr2hbase"],
            ),
            (DATES, "19:1", "write a decorator that converts the attribute x as the serializer did",
             ["regex", "not_imported", "rename", "regex"], ["attr2hbase"]),
            (
                changed(changed(BASE, "a.sinks.k.serializer", "com.x.Mine"), "a.sinks.k.serializer.depth", "3"),
                "13:1",
                CELLS_INSTEAD,
                ["not_imported"],
                ["attr2hbase"],
            ),
            (changed(BASE, "a.sinks.k.type", "com.x.Mine"), "9:1", SINK_INSTEAD, [], ["not_imported"]),
        ],
    )  # fmt: skip
    def test_unknown_class_becomes_a_placeholder(self, text, place, instead, decorators, sinks, imported):
        found = imported(text)
        by_hand = [entry for entry in found.entries if entry.outcome == "by hand"]
        assert [(entry.original, entry.by, entry.why) for entry in by_hand] == [("com.x.Mine", "not_imported", instead)]
        (warning,) = found.warnings
        assert (f"{warning.location.line}:1", warning.kind, warning.hint) == (place, "not-imported", instead)
        assert warning.message == (
            '"com.x.Mine" is not imported: `attr2hbase validate` rejects the pipeline until it is replaced'
        )
        document = read_text(found.yaml, "new.yaml", {})
        pipeline = plain(document.root)["pipelines"]["a-k"]
        kinds = [kind for each in pipeline.get("decorators", []) for kind in each]
        assert [kind for kind in kinds if kind not in ("select", "value")] == decorators
        assert [kind for each in pipeline["sinks"] for kind in each] == sinks
        with pytest.raises(ConfigInvalidError) as caught:
            bind(document, Catalog())
        (refused,) = caught.value.report.errors
        assert found.yaml.splitlines()[refused.location.line - 1][refused.location.column - 1 :].startswith("not_imp")
        assert (refused.kind, refused.message) == ("not-imported", '"com.x.Mine" was not imported')
        assert refused.hint == instead

    def test_other_pipelines_are_complete(self, imported):
        text = changed(changed(BASE, "a.sinks", "k p"), "a.sources.r.channels", "c d") + (
            "a.channels.d.type = memory\na.sinks.p.type = hbase2\na.sinks.p.channel = d\na.sinks.p.table = u\n"
            "a.sinks.p.columnFamily = f\na.sinks.p.serializer = com.x.Mine\na.sinks.p.enableWal = false\n"
        )
        pipelines = plain(read_text(imported(text).yaml, "new.yaml", {}).root)["pipelines"]
        assert list(pipelines) == ["a-k", "a-p"]
        assert "decorators" not in pipelines["a-k"]
        assert pipelines["a-p"]["sinks"] == [{"attr2hbase": {"table": "u", "write_to_wal": False}}]

    def test_headers_are_kept_for_custom_decorators(self, imported):
        text = changed(BASE, "a.sinks.k.serializer", "com.x.Mine") + "a.sources.r.header.trace = x-trace\n"
        pipeline = plain(read_text(imported(text).yaml, "new.yaml", {}).root)["pipelines"]["a-k"]
        assert {"rename": {"attributes": {"x-trace": "trace"}}} in pipeline["decorators"]
        assert "not_imported" in pipeline["decorators"][-1]

    def test_other_problems_are_still_errors(self, imported):
        text = changed(changed(BASE, "a.sinks.k.serializer", "com.x.Mine"), "a.sinks.k.table", "a b")
        with pytest.raises(ConfigInvalidError, match='"a b" is not the name of a table'):
            imported(text)

    @pytest.mark.parametrize("missing", ["table", "columnFamily", "channel"])
    def test_required_settings_are_required(self, missing, imported):
        with pytest.raises(ConfigInvalidError, match=f'the sink needs "{missing}"'):
            imported(changed(changed(BASE, "a.sinks.k.serializer", "com.x.Mine"), f"a.sinks.k.{missing}", ""))

    def test_other_sink_of_flume_is_left_out(self, imported):
        with pytest.raises(ConfigInvalidError, match="there is no HBase sink in this file"):
            imported(changed(BASE, "a.sinks.k.type", "org.apache.flume.sink.kafka.KafkaSink"))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (BASE + "a.sinks.k.tabel = q\n", '"tabel" is not a setting of an HBase sink', 'did you mean "table"?'),
        (BASE + REGEX + "a.sinks.k.serializer.colName = a\n", '"serializer.colName" is no', '"serializer.colNames"?'),
        (BASE + REGEX + "a.sinks.k.serializer.regx = a\n", '"serializer.regx" is no', '"serializer.regex"?'),
        (BASE + "a.sources.r.kafka.topic = q\n", "of a Kafka source", 'did you mean "kafka.topics"?'),
        (interceptor(type="static", vale="x"), "of the interceptor static", 'did you mean "value"?'),
    ],
)
def test_unknown_setting_is_a_warning(text, message, hint, imported):
    found = imported(text)
    assert any(message in warning.message and hint in warning.hint for warning in found.warnings)
    assert not any("not needed" in entry.why for entry in found.entries)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (BASE.replace("columnFamily", "columFamily"), 'did you mean "columFamily"?'),
        (changed(BASE, "a.sinks.k.channel", "c2"), 'did you mean "c"?'),
        (BASE.replace("k.channel", "k.channels"), 'did you mean "channels"?'),
        (changed(interceptor(type="static"), "a.sources.r.interceptors", "j"), "write a.sources.r.interceptors.j.type"),
        (interceptor(type="static").replace("interceptors = i\n", "interceptors = ii\n"), 'did you mean "i"?'),
    ],
)
def test_missing_setting_suggests_a_similar_one(text, hint, imported):
    with pytest.raises(ConfigInvalidError) as caught:
        imported(text)
    assert hint in [problem.hint for problem in caught.value.report.errors]


SELECTOR = BASE + DEPOSIT + "a.sources.r.header.kind = kind\na.sources.r.selector.type = multiplexing\n"


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"mapping.x": "c", "mapping.y": "d"}, "x"),
        ({"mapping.x": "d c", "mapping.y": "d", "default": "d"}, "x"),
        ({"mapping.x": "d", "default": "c"}, "y- 007"),
        ({"mapping.x": "d", "mapping.y": "d", "optional.y": "c", "default": "c d"}, "y- 007"),
        ({"mapping.007": "c"}, "007"),
        ({"mapping.7": "c"}, ""),
        ({"default": "c"}, "xy- 007"),
    ],
)
def test_multiplexing_selector_keeps_the_same_events(more, kept, outcomes):
    text = SELECTOR + "a.sources.r.selector.header = kind\n"
    text += "".join(f"a.sources.r.selector.{name} = {value}\n" for name, value in more.items())
    events = {"x": {"kind": "x"}, "y": {"kind": "y"}, "-": {}, " ": {"kind": ""}, "007": {"kind": "007"}}
    found = {
        name: [line["outcome"] for line in outcomes(text, EVENT | {"attributes": attributes})]
        for name, attributes in events.items()
    }
    assert "".join(name for name, outcome in found.items() if outcome == ["kept"]) == kept


@pytest.mark.parametrize("written", ["multiplexing", "org.apache.flume.channel.MultiplexingChannelSelector"])
def test_a_selector_by_a_header_of_the_source(written, outcomes):
    text = BASE + f"a.sources.r.selector.type = {written}\na.sources.r.selector.header = topic\n"
    for topic, outcome in (("web", "kept"), ("other", "dropped")):
        (line,) = outcomes(text + "a.sources.r.selector.mapping.web = c\n", EVENT | {"topic": topic})
        assert line["outcome"] == outcome
