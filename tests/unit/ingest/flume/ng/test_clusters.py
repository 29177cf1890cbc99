"""Flume 1: sinks of several HBase clusters write to several stores."""

import re

import pytest

SINK = """\
a.sinks.{name}.type = hbase2
a.sinks.{name}.channel = {name}
a.sinks.{name}.table = t
a.sinks.{name}.columnFamily = cf
"""
SOURCE = """\
a.sources = r
a.sources.r.type = org.apache.flume.source.kafka.KafkaSource
a.sources.r.kafka.bootstrap.servers = localhost:9092
a.sources.r.kafka.topics = web
"""


def agent(*settings):
    """An agent with a sink for each, `k1` and so on."""
    names = [f"k{number}" for number in range(1, len(settings) + 1)]
    lines = [f"a.{what} = {' '.join(names)}\n" for what in ("channels", "sinks", "sources.r.channels")]
    for name, own in zip(names, settings, strict=True):
        lines += [SINK.format(name=name), *(f"a.sinks.{name}.{key} = {value}\n" for key, value in own.items())]
    return SOURCE + "".join(lines)


def at(quorum, node=""):
    return {"zookeeperQuorum": quorum} | ({"znodeParent": node} if node else {})


def of_b(text):
    """The same for an agent b with another consumer group."""
    return re.sub(r"^a\.", "b.", text, flags=re.MULTILINE) + "b.sources.r.kafka.consumer.group.id = g\n"


@pytest.fixture
def hosts(imported):
    """The host of each sink's store as written; of the only store if no sink names it."""

    def run(text):
        made = imported(text).yaml
        stores = dict(re.findall(r'^  ([\w.-]+): {hbase: {host: "(.*?)"', made, re.MULTILINE))
        named = re.findall(r"store: ([\w.-]+)", made)
        return [stores[name] for name in named] if named else list(stores.values())

    return run


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([{}], ["${HBASE:localhost}"]),
        ([{}, {}], ["${HBASE:localhost}"]),
        ([at("dc1:2181"), at("dc1:2181")], ["${HBASE:localhost}"]),
        ([at("z1:2181,Z2:2181"), at("z2:2181, z1:2181")], ["${HBASE:localhost}"]),
        ([at("dc1:2181"), at("dc2-zk.x:2181")], ["${HBASE:localhost}", "${HBASE_DC2_ZK_X:localhost}"]),
        (
            [at("dc1:2181"), at("dc2:2181"), at("dc1:2181")],
            ["${HBASE:localhost}", "${HBASE_DC2:localhost}", "${HBASE:localhost}"],
        ),
        ([at("dc1:2181"), {}], ["${HBASE:localhost}", "${HBASE_SITE:localhost}"]),
        ([{}, at("dc1:2181")], ["${HBASE:localhost}", "${HBASE_DC1:localhost}"]),
        (
            [at("z:2181"), at("z:2181", "/x"), at("z:2181", "/y"), at("z:2182")],
            ["${HBASE:localhost}", "${HBASE_Z:localhost}", "${HBASE_Z_2:localhost}", "${HBASE_Z_3:localhost}"],
        ),
        ([at("z:1"), at("${ZK}"), at("!")], ["${HBASE:localhost}", "${HBASE_ZK:localhost}", "${HBASE_2:localhost}"]),
    ],
)
def test_each_cluster_is_a_store_with_its_own_variable(settings, expected, hosts, configuration):
    text = agent(*settings)
    assert hosts(text) == expected
    assert len(configuration(text).stores) == len(set(expected))


def test_report_has_the_cluster_of_each_store(imported):
    made = imported(agent(at("dc1:2181"), at("dc2:2181", "/secure") | {"batchSize": 5}, {}))
    why = {entry.original: entry.why for entry in made.entries}
    assert why["sink k1"].startswith("store hbase is the Thrift server of the cluster at dc1:2181; ")
    assert why["sink k2"].startswith("store hbase-dc2 is the Thrift server of the cluster at dc2:2181, under /secure; ")
    assert why["sink k2"].endswith("; not needed: batchSize")
    assert why["sink k3"].startswith("store hbase-site is the Thrift server of the cluster that hbase-site.xml names; ")
    assert "# the Thrift server of the cluster at dc2:2181, under /secure; the" in made.yaml


@pytest.mark.parametrize("names", [["kerberosPrincipal"], ["kerberosKeytab"], ["kerberosPrincipal", "kerberosKeytab"]])
def test_cluster_with_kerberos_is_a_warning_with_a_hint(names, imported):
    secured = at("dc2:2181") | dict.fromkeys(names, "flume/_HOST@EXAMPLE.COM")
    made = imported(agent(at("dc1:2181"), secured))
    warning = next(each for each in made.warnings if "Kerberos" in each.message)
    message = "the cluster requires Kerberos, which the Thrift connection of this store does not support"
    assert (warning.message, "security: {kerberos:" in warning.hint) == (message, True)
    (first, *_), lines = names, made.report.sources["old.conf"]
    assert lines[warning.location.line - 1].startswith(f"a.sinks.k2.{first}")
    assert not any("kerberos" in entry.why for entry in made.entries)
    stores = " ".join(made.yaml[made.yaml.index("stores:") : made.yaml.index("pipelines:")].split())
    assert stores.count("the settings of Flume's HBase client are not needed") == 1
    assert stores.index("requires Kerberos") > stores.index("dc2:2181")


def test_two_agents_without_a_quorum_are_a_warning(imported, hosts):
    text = agent({}) + of_b(agent({}))
    (warning,) = imported(text).warnings
    assert warning.message == 'agent b has its own hbase-site.xml, like a; here they share "hbase"'
    assert hosts(text) == ["${HBASE:localhost}"]
    assert not imported(agent(at("z:2181")) + of_b(agent(at("z:2181")))).warnings
