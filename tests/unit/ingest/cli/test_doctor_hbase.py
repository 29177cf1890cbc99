"""`attr2hbase doctor hbase`: a region server with its settings, its metrics, and the file that writes to it."""

import json
from pathlib import Path

import pytest

from ingest import cli
from ingest.doctor.hbase.checks import CHECKS
from ingest.doctor.hbase.findings import GUIDE
from ingest.observe.metrics import Metrics
from ingest.receipt import Counts
from tests.support.pages import serving

GIB, MIB = 1 << 30, 1 << 20
IDS = [*(f"M{number}" for number in range(1, 20)), "version"]

METRICS = {
    "regionCount": 3,
    "memStoreSize": 100,
    "storeCount": 4,
    "storeFileCount": 8,
    "hlogFileCount": 3,
    "hlogFileSize": 1000,
    "flushQueueLength": 0,
    "compactionQueueLength": 0,
    "updatesBlockedTime": 0,
    "blockedRequestCount": 0,
    "mutationsWithoutWALCount": 0,
    "mutationsWithoutWALSize": 0,
}


def jmx(*, heap=16 * GIB, written=0, writes=(1,), **metrics):
    """The content of `/jmx`; writes of each region."""
    bean = "Hadoop:service=HBase,name=RegionServer,sub="
    regions = {f"Namespace_default_table_t_region_{n}_metric_writeRequestCount": each for n, each in enumerate(writes)}
    beans = [
        {"name": "java.lang:type=Memory", "HeapMemoryUsage": {"init": 1, "committed": heap, "max": heap, "used": 1}},
        {"name": f"{bean}Server", "tag.Hostname": "rs1", **METRICS, **metrics},
        {"name": f"{bean}WAL", "writtenBytes": written},
        {"name": f"{bean}Regions", **regions},
    ]
    return json.dumps({"beans": beans}).encode()


def site(**properties):
    lines = [
        f"<property><name>hbase.{name.replace('_', '.')}</name><value>{value}</value>"
        "<final>false</final><source>hbase-site.xml</source></property>"
        for name, value in properties.items()
    ]
    return f"<?xml version='1.0'?><configuration>{''.join(lines)}</configuration>".encode()


def by_check(result):
    return {finding["check"]: finding for finding in result.json["findings"]}


def test_all_checks_are_in_order():
    assert [check.id for check in CHECKS] == IDS


def test_guide_has_a_section_for_each_check():
    guide = Path(cli.__file__).resolve().parents[2] / GUIDE
    headings = [line.removeprefix("### ") for line in guide.read_text().splitlines() if line.startswith("### ")]
    assert sorted(headings) == sorted(IDS)


class TestSite:
    @pytest.fixture
    def file(self, folder):
        path = folder / "hbase-site.xml"
        path.write_bytes(site(regionserver_maxlogs=32))
        return path

    def test_finding_is_printed_with_numbers_setting_reason_and_link(self, ingest, file):
        options = ("--heap", "32GiB", "--write-rate", "50MiB", "--regions", "50", "--families", "1")
        result = ingest("doctor", "hbase", "--site", file, *options)
        assert result.code == 1
        (line,) = [line for line in result.out.splitlines() if line.startswith(" M5")]
        words = " ".join(line.split())
        assert words == (
            "M5 error 32 WAL files hold 4.00 GiB, the memstores 12.16 GiB: ratio 0.33 hbase.regionserver.maxlogs = 204"
        )
        assert "M5: too many WAL files make many regions flush at once" in result.out
        assert "docs/guides/hbase-memory.md#m5" in result.out
        assert "write rate     50.00 MiB/s (--write-rate)\n" in result.out
        assert result.err == "1 error, 9 checks skipped\n"

    def test_json_has_the_same_fields(self, ingest, file):
        options = ("--heap", "32GiB", "--write-rate", "50MiB", "--regions", "50", "--families", "1")
        result = ingest("doctor", "hbase", "--site", file, *options, "--output", "json")
        assert (result.code, result.err) == (1, "")
        assert result.json["findings"] == [
            {
                "check": "M5",
                "severity": "error",
                "message": "32 WAL files hold 4.00 GiB, the memstores 12.16 GiB: ratio 0.33",
                "subject": "",
                "numbers": {"wal_bytes": 4294967296, "low_bytes": 13056700579, "ratio": 0.329},
                "property": "hbase.regionserver.maxlogs",
                "value": "204",
                "hint": "",
                "why": "too many WAL files make many regions flush at once, before their memory is used",
                "docs": "docs/guides/hbase-memory.md#m5",
            }
        ]
        assert [each["check"] for each in result.json["skipped"]] == ["M12", *IDS[12:]]
        assert [each["check"] for each in result.json["passed"]] == [*IDS[:4], *IDS[5:11]]
        assert result.json["inputs"] == {
            "configuration": str(file),
            "heap": {"value": 32 * GIB, "from": "--heap"},
            "write_rate": {"value": 50 * MIB, "from": "--write-rate"},
            "regions": {"value": 50, "from": "--regions"},
            "families": {"value": 1, "from": "--families"},
        }

    def test_checks_without_their_inputs_are_skipped_with_the_reason(self, ingest, file):
        result = ingest("doctor", "hbase", "--site", file, "--output", "json")
        reasons = {each["check"]: each["reason"] for each in result.json["skipped"]}
        assert (result.code, [each["check"] for each in result.json["passed"]]) == (0, ["M1", "M2", "M3", "M4"])
        assert reasons["M5"] == "the heap is unknown: give --heap or --jmx"
        assert reasons["M11"] == "the number of families is unknown: give --families, or a FILE with `tables`"
        assert reasons["M18"] == "there are no two samples of metrics: give --jmx, with an --interval above 0s"

    @pytest.mark.parametrize(("fail_on", "code"), [(None, 1), ("warning", 1), ("error", 1), ("critical", 0)])
    def test_exit_code_depends_on_the_severity(self, ingest, file, fail_on, code):
        more = () if fail_on is None else ("--fail-on", fail_on)
        assert ingest("doctor", "hbase", "--site", file, "--heap", "32GiB", *more).code == code

    def test_infos_do_not_fail(self, ingest, folder):
        (folder / "s.xml").write_bytes(site(regionserver_maxlogs=300))
        result = ingest("doctor", "hbase", "--site", "s.xml", "--heap", "16GiB")
        (line,) = [line for line in result.out.splitlines() if line.startswith(" M6 ")]
        assert (result.code, line.split()[1]) == (0, "info")
        assert result.err == "1 info, 13 checks skipped\n"

    def test_damaged_file_is_named_with_its_line(self, ingest, folder):
        (folder / "s.xml").write_text("<configuration>\n<property>\n")
        result = ingest("doctor", "hbase", "--site", "s.xml")
        assert result.code == 2
        assert result.err.startswith("error[config]: s.xml:3:1: not XML: no element found\n")
        assert "--site takes the path of hbase-site.xml" in result.err

    def test_configuration_is_by_default_that_of_hbase(self, ingest):
        options = ("--heap", "16GiB", "--write-rate", "50MiB", "--regions", "50")
        result = ingest("doctor", "hbase", *options, "--output", "json")
        assert (result.code, result.json["inputs"]["configuration"]) == (1, "HBase's defaults")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hbase"], "needs a region server, or what is known about one"),
        (["hbase", "--interval", "5s", "--servers", "3"], "needs a region server, or what is known about one"),
        (["hbsae", "--heap", "16GiB"], 'did you mean "hbase"?'),
        (["p.yaml", "--jmx", "http://rs1:16030"], "a second file and options such as --site are for a region server"),
        (["p.yaml", "q.yaml"], "a second file and options such as --site are for a region server"),
        (["hbase", "--site", "s.xml", "--heap", "16"], '--heap: "16" is not a size'),
        (["hbase", "--site", "s.xml", "--interval", "60"], '--interval: "60" is not a duration'),
        (["hbase", "--jmx", "rs1:16030"], '"rs1:16030/jmx" is not a URL'),
    ],
)
def test_wrong_use_is_refused(ingest, folder, arguments, message):
    result = ingest("doctor", *arguments)
    assert (result.code, message in result.err) == (2, True)


class TestLive:
    """A region server whose metrics are read twice."""

    def run(self, ingest, first, second, *more, conf=None):
        with serving({"/jmx": [first, second], "/conf": conf or site()}) as url:
            options = ("--jmx", f"{url}/jmx", "--interval", "50ms", "--output", "json")
            return ingest("doctor", "hbase", *more, *options)

    def test_quiet_server_is_fine(self, ingest):
        result = self.run(ingest, jmx(), jmx())
        assert (result.code, result.json["findings"]) == (0, [])
        assert [each["check"] for each in result.json["skipped"]] == ["M11", "M12", "M18", "M19", "version"]

    def test_heap_rate_and_regions_are_measured(self, ingest):
        result = self.run(ingest, jmx(writes=[1, 1, 7]), jmx(written=500 * MIB, writes=[2, 1, 9]))
        inputs = result.json["inputs"]
        assert (inputs["heap"], inputs["regions"]) == (
            {"value": 16 * GIB, "from": "--jmx"},
            {"value": 2, "from": "--jmx"},
        )
        assert inputs["write_rate"]["from"] == "--jmx"
        assert 0 < inputs["write_rate"]["value"] <= 500 * MIB / 0.05
        assert by_check(result)["M9"]["severity"] == "error"

    def test_every_metric_has_its_check(self, ingest):
        first = jmx(flushQueueLength=1, updatesBlockedTime=5, mutationsWithoutWALCount=1)
        second = jmx(
            memStoreSize=7 * GIB,
            flushQueueLength=9,
            updatesBlockedTime=50,
            hlogFileCount=31,
            storeFileCount=100,
            mutationsWithoutWALCount=2,
        )
        result = self.run(ingest, first, second, conf=site(regionserver_maxlogs=34))
        severities = {name: finding["severity"] for name, finding in by_check(result).items()}
        assert result.code == 1
        assert severities == {
            "M5": "warning",
            "M13": "critical",
            "M14": "warning",
            "M15": "critical",
            "M16": "warning",
            "M17": "error",
        }

    def test_configuration_is_that_of_the_running_server(self, ingest):
        result = self.run(ingest, jmx(), jmx(), conf=site(regionserver_global_memstore_size="0.9"))
        assert result.json["inputs"]["configuration"].endswith("/conf")
        assert by_check(result)["M2"]["numbers"] == {"memstore_size": 0.9, "effective": 0.4}

    @pytest.mark.parametrize(
        ("version", "expected"),
        [("2.6.1", None), ("2.0.0", None), ("1.7.2", "error"), ("3.0.0-beta-1", None), ("3.1.0", "info")],
    )
    def test_version_is_compared_with_the_support_matrix(self, ingest, version, expected):
        found = by_check(self.run(ingest, jmx(), jmx(), conf=site(defaults_for_version=version)))
        assert {name: finding["severity"] for name, finding in found.items()} == (
            {"version": expected} if expected else {}
        )

    def test_file_may_replace_it(self, ingest, folder):
        (folder / "s.xml").write_bytes(site())
        result = self.run(ingest, jmx(), jmx(), "--site", "s.xml", conf=site(regionserver_global_memstore_size="0.9"))
        assert (result.code, result.json["findings"]) == (0, [])

    def test_one_sample_shows_no_trend(self, ingest):
        with serving({"/jmx": jmx(memStoreSize=7 * GIB), "/conf": site()}) as url:
            result = ingest("doctor", "hbase", "--jmx", url, "--interval", "0s", "--output", "json")
        skipped = {each["check"] for each in result.json["skipped"]}
        assert ([*by_check(result)], {"M14", "M15", "M18"} <= skipped) == (["M13"], True)

    def test_metric_that_the_server_lacks_skips_its_check(self, ingest):
        lacking = json.loads(jmx())
        del lacking["beans"][1]["hlogFileCount"]
        content = json.dumps(lacking).encode()
        result = self.run(ingest, content, content)
        reasons = {each["check"]: each["reason"] for each in result.json["skipped"]}
        assert reasons["M16"] == "the server does not report hlogFileCount"

    def test_wait_for_the_second_sample_is_announced(self, ingest):
        with serving({"/jmx": jmx(), "/conf": site()}) as url:
            result = ingest("doctor", "hbase", "--jmx", url, "--interval", "50ms")
        assert result.err == "the second sample follows in 0.05 s\n5 checks skipped\n"

    def test_server_that_does_not_answer_is_an_error(self, ingest, unused_port):
        result = ingest("doctor", "hbase", "--jmx", f"http://127.0.0.1:{unused_port}/jmx")
        assert (result.code, f':{unused_port}/jmx" does not answer' in result.err) == (3, True)


FILE = """\
version: 1
stores: {hb: {hbase: {host: 127.0.0.1, port: %d}}, mem: {memory: {}}}
tables:
  web: {store: hb, families: {a: {}, b: {compression: zstd}}, splits: [g, p]}
pipelines:
  p:
    source: {files: {path: in}}
    sinks:
      - attr2hbase: {store: hb, table: web, write_buffer_size: 4MiB, %s}
      - attr2hbase: {store: mem, table: other, write_buffer_size: 64MiB, label: mem}
"""


class TestFile:
    @pytest.fixture
    def file(self, folder, unused_port):
        def write(*, durability="write_to_wal: true"):
            (folder / "p.yaml").write_text(FILE % (unused_port, durability))
            return "p.yaml"

        return write

    def test_tables_and_sinks_are_those_of_the_file_if_hbase_does_not_answer(self, ingest, file):
        result = ingest("doctor", "hbase", file(), "--heap", "1GiB", "--output", "json")
        inputs = result.json["inputs"]
        assert (inputs["regions"], inputs["families"]) == (
            {"value": 3, "from": "FILE"},
            {"value": 2, "from": "FILE"},
        )
        found = by_check(result)
        assert (found["M12"]["numbers"], found["M19"]["numbers"]["call_bytes"]) == ({"family": "a"}, 120 * MIB)
        assert inputs["configuration"] == "HBase's defaults"

    def test_fall_back_to_the_file_is_reported(self, ingest, file):
        result = ingest("doctor", "hbase", file())
        assert 'tables of store "hb" are taken from the file: ' in result.err

    def test_regions_are_divided_among_servers(self, ingest, file):
        result = ingest("doctor", "hbase", file(), "--servers", "2", "--output", "json")
        assert result.json["inputs"]["regions"]["value"] == 2

    @pytest.mark.parametrize(
        ("durability", "expected"),
        [
            ("write_to_wal: true", {"M12", "M18"}),
            ("durability: sync", {"M12", "M18"}),
            ("write_to_wal: false", {"M12"}),
            ("rules: [{when: exists(a), durability: skip}]", {"M12"}),
        ],
    )
    def test_writes_without_the_log_are_compared_with_the_sinks(self, ingest, file, durability, expected):
        first, second = jmx(mutationsWithoutWALCount=1), jmx(mutationsWithoutWALCount=2)
        with serving({"/jmx": [first, second], "/conf": site()}) as url:
            options = ("--jmx", url, "--interval", "10ms", "--output", "json")
            result = ingest("doctor", "hbase", file(durability=durability), *options)
        assert set(by_check(result)) == expected

    def test_write_rate_is_that_of_the_service(self, ingest, file):
        metrics, pages = Metrics(["p"], process=False), []
        for _ in range(2):
            pages.append(metrics.render()[1])
            metrics.observe_batch("p", Counts(bytes=100 * MIB), 0.1)
        with serving({"/metrics": pages}) as url:
            options = ("--metrics", f"{url}/metrics", "--interval", "100ms", "--servers", "4", "--output", "json")
            result = ingest("doctor", "hbase", file(), *options)
        rate = result.json["inputs"]["write_rate"]
        assert (rate["from"], 0 < rate["value"] <= 100 * MIB / 4 / 0.1) == ("--metrics", True)

    def test_file_that_writes_to_no_hbase_is_refused(self, ingest, pipeline):
        result = ingest("doctor", "hbase", "pipeline.yaml")
        assert (result.code, 'no sink of "pipeline.yaml" writes to HBase' in result.err) == (2, True)
