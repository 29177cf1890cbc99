"""Variables in values of Flume 1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConfigInvalidError
from ingest.catalog import Catalog
from ingest.config import bind, read_text
from ingest.config.nodes import plain
from ingest.config.writing import flow, literal
from ingest.dry_run import DryRun
from ingest.flume.ng.variables import Variables
from ingest.flume.original import Original
from ingest.flume.pipelines.report import Outcome
from ingest.plan.assemble import plan_of
from tests.support.flume_agent import BASE, DEPOSIT, EVENT, REGEX, changed, interceptor

ENV = {"DC": "ams", "COL": "c1", "T": "tab", "F": "fam", "BROKERS": "k1:9092", "K": "k2", "TOPIC": "web2", "G": "g"}


@pytest.fixture
def bound(imported):
    """The imported file, read with these environment variables."""

    def run(text):
        return bind(read_text(imported(text).yaml, "new.yaml", ENV), Catalog())

    return run


@pytest.fixture
def put(bound):
    """Table, row and cells of an event."""

    def run(text):
        found = bound(text)
        (pipeline,) = found.pipelines.values()
        (output,) = DryRun(plan_of(found, pipeline, Catalog())).run([EVENT])
        (one,) = output.line["puts"]
        return one["table"], one["row"], {f"{family}:{name}": value for family, name, value in one["cells"]}

    return run


def simple(**options):
    text = changed(BASE, "a.sinks.k.serializer.suffix", "timestamp")
    for name, value in options.items():
        text = changed(text, f"a.sinks.k.{name.replace('__', '.')}", value)
    return text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"serializer__rowPrefix": "${DC}-"}, ("t", "ams-5", {"cf:pCol": "r1 text"})),
        ({"serializer__rowPrefix": "${env:DC}-${ENV:F}-"}, ("t", "ams-fam-5", {"cf:pCol": "r1 text"})),
        ({"serializer__rowPrefix": "5%d${env:NONE:-x}"}, ("t", "5%dx5", {"cf:pCol": "r1 text"})),
        ({"serializer__rowPrefix": "${env:NONE:-US$}"}, ("t", "US$5", {"cf:pCol": "r1 text"})),
        ({"serializer__payloadColumn": "${COL}"}, ("t", "default5", {"cf:c1": "r1 text"})),
        ({"table": "${T}", "columnFamily": "x_${F}"}, ("tab", "default5", {"x_fam:pCol": "r1 text"})),
    ],
)
def test_variables_of_a_simple_serializer_are_expanded(options, expected, put):
    assert put(simple(**options)) == expected


def test_variables_of_a_regex_serializer_are_expanded(put):
    text = changed(changed(BASE + REGEX, "a.sinks.k.table", "${T}"), "a.sinks.k.columnFamily", "${F}")
    assert put(text) == ("tab", "r1", {"fam:rest": "text"})


def test_variables_of_interceptors_are_expanded(put):
    text = interceptor(type="static", key="dc", value="${DC}${env:NONE:-%d}")
    assert put(text)[2]["cf:dc"] == "ams%d"
    assert put(interceptor(type="uuid", prefix="${DC}-"))[2]["cf:id"].startswith("ams-")


def test_group_of_an_expression_is_not_a_variable(put):
    text = interceptor(type="search_replace", searchPattern="(?<v>t)e", replaceString="${v}E")
    assert put(text)[2]["cf:rest"] == "tExt"


def test_variables_of_a_source_are_expanded(bound):
    text = changed(BASE, "a.sources.r.kafka.bootstrap.servers", "${BROKERS}, ${env:K}:9093")
    text = changed(text, "a.sources.r.kafka.topics", "${TOPIC}, b")
    text = changed(text, "a.sources.r.kafka.consumer.group.id", "${G}")
    text = changed(text, "a.sources.r.kafka.consumer.client.rack", "${DC}")
    (pipeline,) = bound(text).pipelines.values()
    found = pipeline.source.settings
    assert (found.brokers, found.topics, found.group) == ("k1:9092,k2:9093", ["web2", "b"], "g")
    assert found.options == {"client.rack": "ams"}
    assert found.security.insecure


def test_variable_of_a_password_is_not_imported(imported):
    text = changed(BASE, "a.sources.r.kafka.consumer.security.protocol", "SASL_SSL")
    text = changed(text, "a.sources.r.kafka.consumer.sasl.mechanism", "PLAIN")
    text += 'a.sources.r.kafka.consumer.sasl.jaas.config = X username="${env:ME}" password="${env:HIDDEN}";\n'
    found = imported(text)
    assert 'username: "${ME}"' in found.yaml
    assert not any("HIDDEN" in entry.by for entry in found.entries)


def test_channel_that_is_a_topic(bound):
    text = changed(changed(BASE, "a.sources.r.type", "avro"), "a.channels.c.type", "kafka")
    text += "a.channels.c.kafka.bootstrap.servers = ${BROKERS}\na.channels.c.kafka.topic = ${TOPIC}\n"
    (pipeline,) = bound(text).pipelines.values()
    assert (pipeline.source.settings.brokers, pipeline.source.settings.topics) == ("k1:9092", ["web2"])


def test_key_of_the_file_is_replaced_by_its_value(put, imported):
    text = simple(type="${kind}", serializer__rowPrefix="${pre.fix}") + "kind = hbase2\npre.fix = x-${DC}-\n"
    assert put(text)[1] == "x-ams-5"
    found = {(entry.original, entry.by) for entry in imported(text).entries if entry.outcome == Outcome.REPLACED}
    assert {("${kind}", "hbase2"), ("${pre.fix}", "x-${DC}-"), ("${DC}", "${DC}")} <= found


def test_report_lists_variables_to_set(imported):
    text = simple(serializer__rowPrefix="${DC}${env:COL}${env:A:-b}", zookeeperQuorum="${ZK}")
    found = {entry.by: entry.why for entry in imported(text).entries if entry.original.startswith("${")}
    assert found == {
        "${DC}": "set DC where the pipeline runs; without EnvVarResolverProperties it was text: then write $${DC}",
        "${COL}": "set COL where the pipeline runs",
        "${A:b}": "A may be set where the pipeline runs",
    }


@pytest.mark.parametrize(
    ("value", "row", "message"),
    [
        ("${sys:user.name}", "${sys:user.name}5", "only environment variables are supported"),
        ("${date:yyyy}", "${date:yyyy}5", "only environment variables are supported"),
        ("${f1['key']}", "${f1['key']}5", "only environment variables are supported"),
        ("${env:my-dc}", "${env:my-dc}5", "a variable with this name"),
        ("${secret}", "${secret}5", "a variable with this name"),
        ("${1A}", "${1A}5", "a variable with this name"),
        ("${env:A:-?b}", "${env:A:-?b}5", "a default that starts with a question mark"),
        ("$${DC}", "${DC}5", "with two $ it is text in Flume 1.10"),
        ("${${sys:env}_DC}", "${${sys:env}_DC}5", "a variable inside another"),
        ("${env:A:-{b}}", "${env:A:-{b}}5", "a variable inside another"),
        ("${end}${DC}", "${end}ams5", "ends with a $"),
        ("${loop}", "${loop}5", "a variable inside another"),
    ],
)
def test_text_that_looks_like_a_variable_is_a_warning(value, row, message, put, imported):
    text = simple(serializer__rowPrefix=value) + "loop = ${loop}\nend = a$\n"
    assert put(text)[1] == row
    (warning,) = imported(text).warnings
    assert message in warning.message
    assert warning.location.line == text.count("\n", 0, text.index("rowPrefix")) + 1


@pytest.mark.parametrize("value", ["${}", "${a b}", "${", "$x", "${a-b}", "a$"])
def test_text_that_no_flume_replaced_is_kept(value, put, imported):
    text = simple(serializer__rowPrefix=value)
    assert (put(text)[1], imported(text).warnings) == (f"{value}5", ())


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        (changed(BASE, "a.sinks.k.type", "${T}"), "type", 9),
        (changed(BASE, "a.sources.r.channels", "${C}"), "channels", 7),
        (changed(BASE, "a.sources.r.useFlumeEventFormat", "${B}"), "useFlumeEventFormat", 13),
        (changed(BASE + REGEX, "a.sinks.k.serializer.rowKeyIndex", "${N}"), "serializer.rowKeyIndex", 16),
        (changed(BASE + REGEX, "a.sinks.k.serializer.colNames", "ROW_KEY,${N}"), "serializer.colNames", 15),
        (changed(BASE + REGEX, "a.sinks.k.serializer.regex", "(${N})(.*)"), "serializer.regex", 14),
        (changed(BASE, "a.sources.r.kafka.consumer.security.protocol", "${P}"), "security.protocol", 13),
        (BASE + DEPOSIT + "a.sources.r.header.x = ${H}\n", "header.x", 18),
        (interceptor(type="static", key="${K}"), "key", 20),
        (interceptor(type="search_replace", searchPattern="a", replaceString="${x}"), "replaceString", 21),
    ],
)
def test_variable_whose_value_the_import_needs_is_an_error(text, name, line, imported):
    with pytest.raises(ConfigInvalidError) as caught:
        imported(text)
    found = [problem for problem in caught.value.report.errors if problem.location.line == line]
    assert len(found) == 1
    assert f"{name} contains ${{" in found[0].message


def test_error_next_to_a_variable_is_reported(imported):
    text = changed(simple(serializer__rowPrefix="${DC}"), "a.sinks.k.table", "a b")
    with pytest.raises(ConfigInvalidError, match='"a b" is not the name of a table'):
        imported(text)


names = st.sampled_from(["A", "b_2", "_"])
pieces = st.lists(st.tuples(st.just("text"), st.text(max_size=4).filter(lambda text: "$" not in text))
                  | st.tuples(st.just("env"), names), max_size=5)  # fmt: skip


@given(pieces, st.dictionaries(names, st.text(max_size=4), min_size=3))
def test_any_value_is_unchanged(parts, env):
    value = "".join(f"${{env:{part}}}" if kind == "env" else part for kind, part in parts)
    expected = "".join(env[part] if kind == "env" else part for kind, part in parts)
    original = Original("old.conf", value)
    variables = Variables(original, {})
    ours = variables.written(literal(variables.opened(value, 0)))
    document = read_text(f"version: {flow(ours)}\n", "new.yaml", env)
    assert (plain(document.root), document.problems) == ({"version": expected}, [])
    assert original.problems == []
