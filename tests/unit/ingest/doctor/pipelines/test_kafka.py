"""Checks of what a pipeline reads from Kafka."""

import pytest

from ingest.doctor.examination import Found, Skipped
from ingest.doctor.pipelines.kafka import (
    rated_clock,
    rated_decompressed_sizes,
    rated_retention,
    rated_rights,
    rated_sizes,
)
from ingest.kafka.retention import Backlog
from ingest.kafka.stored import TopicSettings

MIB = 1 << 20
LIMITS = TopicSettings(MIB, retention_ms=1000, retention_bytes=5000, cleanup_policy="delete")


class TestRights:
    def test_right_on_all_topics(self):
        result = rated_rights({"a": frozenset({"READ", "DESCRIBE"}), "b": frozenset({"READ"})}, "READ", subject="p")
        assert (result.text, result.findings) == ("may READ 2 topics", ())

    def test_missing_right_is_an_error_with_the_command(self):
        result = rated_rights({"a": frozenset({"READ"}), "b": frozenset({"DESCRIBE"})}, "READ", subject="p")
        (finding,) = result.findings
        assert (finding.check, finding.severity.value, finding.subject) == ("topic_rights", "error", "p")
        assert finding.message == 'no right to READ topic "b"'
        assert "--operation Read --topic b" in finding.hint

    def test_cluster_that_reports_no_rights_is_skipped(self):
        assert rated_rights({}, "READ", subject="p") == Skipped("the cluster does not report rights")


class TestRetention:
    def rated(self, **backlogs):
        found = rated_retention(
            "t", LIMITS, {("t", int(name[1:])): each for name, each in backlogs.items()}, subject="p"
        )
        return [
            (finding.severity.value, finding.numbers["partitions"], finding.numbers["records"]) for finding in found
        ]

    def test_young_records_are_no_finding(self):
        assert self.rated(p0=Backlog(position=50, earliest=0, end=100, used=0.49)) == []

    def test_no_lag_is_no_finding(self):
        assert self.rated(p0=Backlog(position=100, earliest=0, end=100, used=0.0)) == []

    def test_records_older_than_half_of_the_retention_are_a_warning(self):
        assert self.rated(p0=Backlog(position=49, earliest=0, end=100, used=0.5)) == [("warning", 1, 51)]

    def test_records_older_than_nearly_all_of_it_are_an_error(self):
        assert self.rated(p0=Backlog(position=19, earliest=0, end=100, used=0.9)) == [("error", 1, 81)]

    def test_deleted_records_are_critical(self):
        assert self.rated(p0=Backlog(position=9, earliest=12, end=100, used=1.0)) == [("critical", 1, 3)]

    def test_partitions_are_grouped_by_severity(self):
        half = Backlog(position=49, earliest=0, end=100, used=0.6)
        lost = Backlog(position=0, earliest=10, end=10, used=1.0)
        assert self.rated(p0=half, p1=lost, p2=half) == [("critical", 1, 10), ("warning", 2, 102)]

    def test_longer_retention_is_proposed(self):
        backlog = Backlog(position=49, earliest=0, end=100, used=0.6)
        (finding,) = rated_retention("t", LIMITS, {("t", 3): backlog}, subject="p")
        assert (finding.property, finding.value) == ("retention.ms", "2000")
        assert finding.message == ('unread records have used 50% of the retention: topic "t", partitions 3, 51 records')

    def test_larger_retention_by_size_is_proposed(self):
        backlog = Backlog(position=49, earliest=10, end=100, used=0.6, is_by_size=True)
        (finding,) = rated_retention("t", LIMITS, {("t", 3): backlog}, subject="p")
        assert (finding.property, finding.value) == ("retention.bytes", "10000")


class TestDecompressedSize:
    def test_limit_of_an_event_passes(self):
        found = rated_decompressed_sizes({"t": MIB, "u": MIB + (64 << 10)}, MIB, subject="p")
        assert (found.text, found.findings) == ("records of at most 1.06 MiB when they are decompressed", ())

    def test_default_of_kafka_limits_nothing_and_is_a_warning(self):
        found = rated_decompressed_sizes({"t": MIB, "u": 2147483639, "v": None}, MIB, subject="p")
        (finding,) = found.findings
        assert (finding.check, finding.severity.value, finding.numbers["topic"]) == (
            "decompressed_size",
            "warning",
            "u",
        )
        assert (finding.property, finding.value) == ("max.decompressed.message.bytes", "1114112")

    def test_brokers_without_the_setting_are_named_for_information(self):
        (finding,) = rated_decompressed_sizes({"t": None, "u": None}, MIB, subject="p").findings
        assert (finding.severity.value, finding.property) == ("info", "max.decompressed.message.bytes")
        assert "brokers 4.2.2 and 4.4 know this setting" in finding.hint


class TestClock:
    NOW_MS = 1_700_000_000_000

    @pytest.mark.parametrize("ahead_ms", [-60_000, 0, 60_000])
    def test_clocks_that_agree(self, ahead_ms):
        assert rated_clock(self.NOW_MS + ahead_ms, self.NOW_MS, subject="k") == Found("within 60 s of this machine's")

    @pytest.mark.parametrize(
        ("ahead_ms", "severity", "difference"),
        [
            (-90_000_000, "warning", "2023-11-13T21:13:20.000Z, is 90,000 s behind the cluster's, 2023-11-14T22"),
            (60_001, "warning", "is 60 s ahead of the cluster's"),
            (86_400_000, "warning", "is 86,400 s ahead of the cluster's"),
            (86_400_001, "error", "is 86,400 s ahead of the cluster's"),
        ],
    )
    def test_difference_is_named(self, ahead_ms, severity, difference):
        (finding,) = rated_clock(self.NOW_MS + ahead_ms, self.NOW_MS, subject="k").findings
        assert (finding.severity.value, finding.numbers) == (severity, {"ahead_s": ahead_ms / 1000})
        assert difference in finding.message
        assert ("a start is refused" in finding.why) is (severity == "error")

    def test_cluster_that_does_not_report_its_clock_is_skipped(self):
        assert rated_clock(self.NOW_MS, None, subject="k") == Skipped("the cluster does not report its clock")


class TestRecordSize:
    @pytest.mark.parametrize("limit", [1000, 1048588, MIB + 68])
    def test_records_of_kafkas_default_fit(self, limit):
        assert rated_sizes({"t": limit}, MIB, subject="p").findings == ()

    def test_larger_records_are_a_warning(self):
        (finding,) = rated_sizes({"t": MIB + 69, "u": 1000}, MIB, subject="p").findings
        assert (finding.check, finding.severity.value, finding.numbers["topic"]) == ("record_size", "warning", "t")
        assert (finding.property, finding.value) == ("max_event_bytes", f"{MIB + 69}B")
