"""M13 to M18: metrics of a running region server."""

import pytest

from ingest.doctor.examination import Severity
from ingest.doctor.hbase import metrics_checks as checks
from ingest.doctor.hbase.inputs import Trend, Writers
from ingest.doctor.hbase.jmx import Sample
from ingest.doctor.hbase.server import Memory, RegionServer

GIB = 1 << 30
MEMORY = Memory(RegionServer(), 16 * GIB)
LIMIT, LOW = 6871947673, 6528350289


def one(findings):
    (found,) = findings
    return found


def sample(**metrics):
    return Sample(0.0, metrics=metrics)


def trend(**metrics):
    """Each metric as (before, after)."""
    first, second = ({name: pair[index] for name, pair in metrics.items()} for index in (0, 1))
    return Trend(Sample(0.0, metrics=first), Sample(60.0, metrics=second))


class TestMemstores:
    @pytest.mark.parametrize(
        ("used", "expected"),
        [(0, []), (LOW, []), (LOW + 1, ["warning"]), (LIMIT, ["warning"]), (LIMIT + 1, ["critical"])],
    )
    def test_severity_depends_on_both_limits(self, used, expected):
        assert [found.severity.value for found in checks.memstores(MEMORY, sample(memStoreSize=used))] == expected

    def test_percent_of_the_limit_is_printed(self):
        found = one(checks.memstores(MEMORY, sample(memStoreSize=LIMIT)))
        assert (found.check, found.numbers["percent"], "100% of the limit" in found.message) == ("M13", 100.0, True)
        assert (found.property, found.value) == ("hbase.hstore.flusher.count", "4")


class TestQueues:
    def test_queues_that_grow_are_a_warning(self):
        found = list(checks.queues(RegionServer(), trend(flushQueueLength=(1, 3), compactionQueueLength=(10, 12))))
        assert [(each.check, each.severity, each.numbers) for each in found] == [
            ("M14", Severity.WARNING, {"before": 1, "after": 3}),
            ("M14", Severity.WARNING, {"before": 10, "after": 12}),
        ]
        assert [(each.property, each.value) for each in found] == [
            ("hbase.hstore.flusher.count", "4"),
            ("hbase.regionserver.thread.compaction.small", "2"),
        ]

    @pytest.mark.parametrize("lengths", [(0, 0), (0, 5), (5, 5), (5, 4)])
    def test_queue_that_was_empty_or_does_not_grow_is_no_finding(self, lengths):
        assert list(checks.queues(RegionServer(), trend(flushQueueLength=lengths, compactionQueueLength=(0, 0)))) == []


class TestBlockedWrites:
    def test_growth_is_critical(self):
        found = list(
            checks.blocked_writes(RegionServer(), trend(updatesBlockedTime=(100, 350), blockedRequestCount=(2, 3)))
        )
        assert [(each.check, each.severity, each.numbers["delta"]) for each in found] == [
            ("M15", Severity.CRITICAL, 250),
            ("M15", Severity.CRITICAL, 1),
        ]

    def test_earlier_blocks_are_no_finding(self):
        unchanged = trend(updatesBlockedTime=(100, 100), blockedRequestCount=(2, 2))
        assert list(checks.blocked_writes(RegionServer(), unchanged)) == []


class TestLogFiles:
    @pytest.mark.parametrize(("files", "count"), [(91, 0), (92, 1)])
    def test_nine_tenths_of_the_maximum_are_a_warning(self, files, count):
        assert len(list(checks.log_files(MEMORY, sample(hlogFileCount=files)))) == count

    def test_more_files_are_proposed_if_hbase_would_allow_them(self):
        found = one(checks.log_files(Memory(RegionServer(max_logs=32), 16 * GIB), sample(hlogFileCount=29)))
        assert (found.check, found.numbers) == ("M16", {"files": 29, "max_logs": 32})
        assert (found.property, found.value) == ("hbase.regionserver.maxlogs", "102")

    def test_else_earlier_flushes_of_old_edits(self):
        found = one(checks.log_files(MEMORY, sample(hlogFileCount=102)))
        assert (found.property, found.value) == ("hbase.regionserver.optionalcacheflushinterval", "1800000")


class TestStoreFiles:
    @pytest.mark.parametrize(("files", "expected"), [(80, []), (81, ["warning"]), (159, ["warning"]), (160, ["error"])])
    def test_severity_depends_on_files_a_store(self, files, expected):
        found = checks.store_files(RegionServer(), sample(storeFileCount=files, storeCount=10))
        assert [each.severity.value for each in found] == expected

    def test_server_without_stores_is_no_finding(self):
        assert list(checks.store_files(RegionServer(), sample(storeFileCount=0, storeCount=0))) == []


class TestWritesWithoutLog:
    GROWN = trend(mutationsWithoutWALCount=(5, 9), mutationsWithoutWALSize=(500, 900))

    def test_writes_of_other_clients_are_a_warning(self):
        found = one(checks.writes_without_log(self.GROWN, Writers(1, uses_wal=True)))
        assert (found.check, found.severity, found.numbers) == (
            "M18",
            Severity.WARNING,
            {"count": 4, "at_risk_bytes": 900},
        )

    def test_sinks_without_the_log_explain_them(self):
        assert list(checks.writes_without_log(self.GROWN, Writers(1, uses_wal=False))) == []

    def test_unchanged_count_is_no_finding(self):
        same = trend(mutationsWithoutWALCount=(5, 5), mutationsWithoutWALSize=(500, 500))
        assert list(checks.writes_without_log(same, Writers(1, uses_wal=True))) == []
