"""hbase-site.xml and `/conf`: properties with their places, and nothing that XML can do besides."""

import pytest

from ingest.api import ConfigError, NotFoundError
from ingest.doctor.hbase.server import RegionServer
from ingest.formats import hadoop_site as site
from ingest.formats.hadoop_site import Property, expanded, parsed, read_site

HINT = "name another file"

SITE = b"""<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<configuration>
  <!-- a comment -->
  <property>
    <name> hbase.regionserver.maxlogs </name>
    <value>
      64
    </value>
    <description>WAL &lt;files&gt;</description>
    <final>true</final>
  </property>
  <property><name>empty</name><value></value></property>
  <property name="hbase.hstore.flusher.count" value="4"/>
  <property><name>twice</name><value>1</value></property>
  <property><name>twice</name><value>2</value></property>
</configuration>
"""


def test_properties_have_values_and_places():
    assert parsed(SITE, "s.xml", hint=HINT) == {
        "hbase.regionserver.maxlogs": Property("64", "s.xml:5"),
        "hbase.hstore.flusher.count": Property("4", "s.xml:14"),
        "twice": Property("2", "s.xml:16"),
    }


def test_defaults_of_a_running_server_are_marked():
    text = b"<configuration>" + b"".join(
        b"<property><name>hbase.regionserver.maxlogs</name><value>%d</value><final>false</final>"
        b"<source>%s</source></property>" % (number, source)
        for number, source in ((32, b"hbase-default.xml"),)
    )
    text += b"</configuration>"
    (found,) = parsed(text, "/conf", hint=HINT).values()
    assert found.is_default
    assert RegionServer.of(parsed(text, "/conf", hint=HINT)).max_logs is None
    by_hand = text.replace(b"hbase-default.xml", b"hbase-site.xml")
    assert RegionServer.of(parsed(by_hand, "/conf", hint=HINT)).max_logs == 32


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "s.xml:1:1: not XML: no element found"),
        (b"<configuration>\n<property>\n</configuration>", "s.xml:3:3: not XML: mismatched tag"),
        (b"<html>\n</html>", "s.xml:1: the root element is <html>, not <configuration>"),
        (b"<configuration>\n<property><value>1</value></property></configuration>", "s.xml:2: a property has no name"),
        (
            b'<?xml version="1.0" encoding="other"?><configuration/>',
            "s.xml:1: the encoding cannot be read: unknown encoding: other",
        ),
        (
            b'<?xml version="1.0" encoding="utf-7"?><configuration/>',
            "s.xml:1: the encoding cannot be read: multi-byte encodings are not supported",
        ),
        (b"<!DOCTYPE configuration>\n<configuration/>", "s.xml:1: a document type declaration is not allowed"),
        (
            b'<!DOCTYPE c [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><configuration>&b;</configuration>',
            "s.xml:1: a document type declaration is not allowed",
        ),
        (
            b'<!DOCTYPE c [<!ENTITY a SYSTEM "file:///etc/passwd">]><configuration>&a;</configuration>',
            "s.xml:1: a document type declaration is not allowed",
        ),
        (b"<configuration>&a;</configuration>", "s.xml:1:16: not XML: undefined entity"),
        (
            b'<configuration xmlns:xi="x">\n<xi:include href="more.xml"/></configuration>',
            "s.xml:2: included files are not read",
        ),
    ],
)
def test_mistakes_name_file_and_place(text, message):
    with pytest.raises(ConfigError) as caught:
        parsed(text, "s.xml", hint=HINT)
    assert caught.value.message == message
    assert (caught.value.hint or "").endswith(HINT)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("h:${port}", "h:1"),
        ("${host}:${port}", "h1:1"),
        ("${of${which}}", "1"),
        ("${none}:${port}", "${none}:${port}"),  # as in Hadoop
        ("$port {port} ${", "$port {port} ${"),
        ("${endless}", "${endless}"),
    ],
)
def test_variables_are_other_values(value, expected):
    values = {"port": "1", "host": "h${port}", "ofport": "1", "which": "port", "endless": "${endless}", "asked": value}
    assert expanded(values)["asked"] == expected


def test_file_is_read(tmp_path):
    path = tmp_path / "hbase-site.xml"
    path.write_bytes(SITE)
    assert read_site(str(path), hint=HINT)["twice"] == Property("2", f"{path}:16")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(NotFoundError, match=r'none.xml" cannot be read: no such file'):
        read_site(str(tmp_path / "none.xml"), hint=HINT)


def test_file_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "MAX_BYTES", 10)
    path = tmp_path / "large.xml"
    path.write_bytes(SITE)
    with pytest.raises(ConfigError, match="is larger than"):
        read_site(str(path), hint=HINT)


def settings(**values):
    return {name: Property(value, "s.xml:7") for name, value in values.items()}


class TestRegionServer:
    def test_defaults_are_those_of_hbase(self):
        server = RegionServer.of({})
        assert server == RegionServer()
        assert (server.wal_block_size, server.flush_size, server.roll_size) == (268435456, 134217728, 134217728)

    def test_all_properties_are_read(self):
        names = {
            "hbase.regionserver.global.memstore.size": "0.45f",
            "hbase.regionserver.global.memstore.size.lower.limit": "0.9",
            "hbase.hregion.memstore.flush.size": "268435456",
            "hbase.hregion.memstore.block.multiplier": "8",
            "hbase.regionserver.hlog.blocksize": "67108864",
            "hbase.regionserver.logroll.multiplier": "0.95",
            "hbase.regionserver.maxlogs": "32",
            "hbase.hregion.percolumnfamilyflush.size.lower.bound.min": "1000",
            "hbase.hstore.blockingStoreFiles": "30",
            "hbase.hstore.flusher.count": "4",
            "hbase.regionserver.thread.compaction.small": "3",
            "hbase.regionserver.optionalcacheflushinterval": "60000",
            "hfile.block.cache.size": "0.2",
            "hbase.regionserver.offheap.global.memstore.size": "1024",
            "hbase.regionserver.handler.count": "60",
        }
        assert RegionServer.of(settings(**names)) == RegionServer(
            memstore_size=0.45,
            lower_limit=0.9,
            flush_size=268435456,
            block_multiplier=8,
            wal_block_size=67108864,
            roll_multiplier=0.95,
            max_logs=32,
            family_flush_min=1000,
            blocking_store_files=30,
            flushers=4,
            small_compactions=3,
            flush_interval_s=60.0,
            block_cache=0.2,
            offheap_memstore=1 << 30,
            handlers=60,
        )

    @pytest.mark.parametrize(("block", "expected"), [("67108864", 134217728), ("64m", 134217728), ("1G", 2 << 30)])
    def test_size_of_a_log_follows_from_the_file_system(self, block, expected):
        assert RegionServer.of(settings(**{"dfs.blocksize": block})).wal_block_size == expected

    def test_size_of_a_log_may_be_set(self):
        both = settings(**{"dfs.blocksize": "64m", "hbase.regionserver.hlog.blocksize": "1000"})
        assert RegionServer.of(both).wal_block_size == 1000

    @pytest.mark.parametrize(
        ("name", "value", "problem"),
        [
            ("hbase.hregion.memstore.flush.size", "128m", "not a whole number"),
            ("hbase.hregion.memstore.flush.size", "0", "below 1"),
            ("hbase.regionserver.global.memstore.size", "${half}", "not a number"),
            ("hbase.regionserver.global.memstore.size", "nan", "not a number"),
            ("hbase.regionserver.logroll.multiplier", "0", "not above 0"),
            ("hfile.block.cache.size", "4", "not between 0 and 1"),
            ("dfs.blocksize", "x", "not a size"),
        ],
    )
    def test_value_that_hbase_refuses_is_an_error_with_its_place(self, name, value, problem):
        with pytest.raises(ConfigError) as caught:
            RegionServer.of(settings(**{name: value}))
        assert caught.value.message == f's.xml:7: {name} is "{value}", {problem}'
