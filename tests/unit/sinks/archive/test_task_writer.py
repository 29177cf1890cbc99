"""What the tasks of an archive write: the columns of rows, and the partitions of events."""

import errno
import gzip
import json
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.api import (
    Batch,
    Disposition,
    Event,
    EventError,
    IngestError,
    MappingError,
    Origin,
    TaskSpec,
    WriteCounts,
)
from ingest.formats.times import EPOCH
from ingest.pipeline.time_limit import OutOfTimeError
from sinks.archive.layout import NO_TIME
from sinks.archive.partition import Partition
from sinks.archive.sink import ArchiveSettings
from sinks.archive.task_writer import ArchiveWriter
from sinks.files.root import Root
from tests.support.archives import (
    DAY_MS,
    SETTINGS,
    START_S,
    Writer,
    event,
    files_of,
    rows_in,
    visible,
)
from tests.support.crashing_root import CrashingRoot

TIME_MS = DAY_MS + 3_600_000
DAY = 24 * 3_600_000


class TestRecords:
    @pytest.fixture
    def writer(self, root: Root, monkeypatch: pytest.MonkeyPatch) -> ArchiveWriter:
        monkeypatch.setattr("sinks.archive.task_writer.max_record_bytes", lambda max_event_bytes: 2_500)
        columns = {"body": {"value": "%{body}", "type": "binary"}}
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})
        made = Writer(root, settings=settings).task_writer()
        made.begin(TaskSpec(Batch("b", TIME_MS, "a"), task_id="t"), b"_tmp/w/a", WriteCounts())
        return made

    def written(self, writer: ArchiveWriter, offset: int, fan_outs: int) -> list[str]:
        """The codes of the events of a record with 1,000 bytes each."""
        codes = []
        for fan_out in range(fan_outs):
            made = Event(b"x" * 1_000, timestamp_ms=TIME_MS, origin=Origin("t", 0, offset, fan_out))
            try:
                writer.write(made)
            except MappingError as error:
                codes.append(error.code)
            else:
                codes.append("")
        return codes

    def test_events_of_a_record_write_only_so_much(self, writer: ArchiveWriter) -> None:
        assert self.written(writer, 0, 5) == ["", "", "", "too_large", "too_large"]
        assert self.written(writer, 1, 3) == ["", "", ""]
        assert [self.written(writer, offset, 1) for offset in range(2, 9)] == [[""]] * 7

    def test_a_flush_cycle_begins_with_no_bytes(self, writer: ArchiveWriter) -> None:
        for _ in range(2):
            writer.begin(TaskSpec(Batch("b", TIME_MS, "a"), task_id="t"), b"_tmp/w/a", WriteCounts())
            assert self.written(writer, 0, 3) == ["", "", ""]


class TestRows:
    def test_more_rows_than_a_row_group(self, root: Root) -> None:
        Writer(root).run(TIME_MS, [event(number) for number in range(40_000)])
        assert visible(root) == {"20151210": list(range(40_000))}

    def test_rows_in_memory_are_bounded_by_their_bytes(self, root: Root) -> None:
        columns = {"body": {"value": "%{body}", "type": "binary"}, "text": "%{text}"}
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})
        large = event(1)
        large.attributes["text"] = b"x" * (12 << 20)
        writer = Writer(root, settings=settings).task_writer()
        counts = WriteCounts()
        writer.begin(TaskSpec(Batch("b", TIME_MS, "a"), task_id="t"), b"_tmp/w/a", counts)
        for _ in range(2):
            writer.write(large)
        assert counts.write_calls == 0
        writer.write(large)
        assert counts.write_calls == 1
        for _ in range(2):
            writer.write(large)
        assert counts.write_calls == 1
        writer.close()

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (TypeError("a defect"), ("sink_failed", Disposition.STOP)),
            (OutOfTimeError(), ("store_unavailable", Disposition.RETRY)),
            (OSError(errno.ENOSPC, "full"), ("disk_full", Disposition.RETRY)),
        ],
    )
    def test_row_that_cannot_be_written_fails_no_event(
        self, root: Root, error: BaseException, expected: tuple[str, Disposition]
    ) -> None:
        class Failing(CrashingRoot):
            def make_folder(self, path: str) -> None:
                raise error

        writer = Writer(root)
        writer.root = Failing(root, 0)
        with pytest.raises(IngestError) as caught:
            writer.flush(TIME_MS, [event(1)])
        assert (caught.value.code, caught.value.disposition) == expected

    def test_columns(self, root: Root, partition: Partition) -> None:
        columns = {
            "user": "%{user}",
            "raw": {"value": "%{body}", "type": "binary"},
            "small": {"value": "%{n}", "type": "int32"},
            "large": {"value": "%{n}", "type": "int64"},
            "real": {"value": "%{n}", "type": "float64"},
            "seen": {"value": "%{n}", "type": "time"},
            "none": {"value": "%{none}", "on_missing": "empty"},
        }
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})
        full, bare = event(1), replace(event(2), origin=Origin("t", 3, 2, 1))
        full.attributes.update(user="å".encode(), n=b"7")
        writer = Writer(root, settings=settings)
        writer.run(TIME_MS, [full, bare])
        (name,) = files_of(root, partition, START_S)
        with root.open(partition.path(START_S, name)) as file:
            table = pq.read_table(file)
        assert [str(field.type) for field in table.schema] == [
            *("string", "int32", "int64", "int64", "timestamp[ms, tz=UTC]"),
            *("string", "binary", "int32", "int64", "double", "timestamp[ms, tz=UTC]", "string"),
        ]
        assert table.schema.names[:6] == ["_topic", "_partition", "_offset", "_fan_out", "_time", "user"]
        numbered = table.set_column(4, "_time", table["_time"].cast(pa.int64()))
        numbered = numbered.set_column(10, "seen", numbered["seen"].cast(pa.int64()))
        assert [list(row.values()) for row in numbered.to_pylist()] == [
            ["t", 0, 1, 0, DAY_MS + 1, "å", b"1", 7, 7, 7.0, 7, ""],
            ["t", 3, 2, 1, DAY_MS + 1, None, b"2", None, None, None, None, ""],
        ]

    def test_lines_of_json(self, root: Root, partition: Partition) -> None:
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "format": "json"})
        writer = Writer(root, settings=settings)
        writer.run(TIME_MS, [event(1), replace(event(2), body=b"\xff")])
        (name,) = files_of(root, partition, START_S)
        lines = gzip.decompress(root.read(partition.path(START_S, name))).splitlines()
        assert [json.loads(line) for line in lines] == [
            {"_topic": "t", "_partition": 0, "_offset": number, "_fan_out": 0, "_time": time, "body": body}
            for number, time, body in (
                (1, "2015-12-10T00:00:00.001Z", "1"),
                (2, "2015-12-10T00:00:00.001Z", {"b64": "/w=="}),
            )
        ]

    @pytest.mark.parametrize("text", [b"12", b"+12", b"12.0", b"1.2e1"])
    def test_numbers_are_read_as_everywhere(self, root: Root, partition: Partition, text: bytes) -> None:
        types = ("int32", "int64", "float64", "time")
        columns = {name: {"value": "%{n}", "type": name} for name in types}
        full = event(1)
        full.attributes["n"] = text
        Writer(root, settings=ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})).run(
            TIME_MS, [full]
        )
        (row,) = rows_in(root, partition, START_S)
        assert [row[name] for name in types] == [12, 12, 12.0, EPOCH + timedelta(milliseconds=12)]

    @pytest.mark.parametrize(
        ("column_type", "text"),
        [
            *((each, text) for each in ("int32", "int64", "float64", "time") for text in (b"1_000", b" 12", b"12\n")),
            *(("int64", b"1.5"), ("float64", b"inf"), ("float64", b"1e999"), ("float64", b"1" * 1_001)),
            *(("int32", b"x"), ("int32", b"2147483648"), ("int64", b"%d" % 2**63), ("float64", b"nan")),
            *(("utf8", b"\xff"), ("time", b"x"), ("time", b"1449784608000000000"), ("time", b"253402300800000")),
        ],
    )
    def test_value_of_another_type_fails(self, root: Root, column_type: str, text: bytes) -> None:
        columns = {"n": {"value": "%{n}", "type": column_type}}
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})
        bad = event(1)
        bad.attributes["n"] = text
        with pytest.raises(MappingError, match='column "n"') as caught:
            Writer(root, settings=settings).flush(TIME_MS, [bad])
        assert caught.value.code == "bad_column"
        assert "`when` of the sink `archive`" in str(caught.value.hint)


class TestTimes:
    @pytest.mark.parametrize("time_ms", [-1, -14_400_000, 253_402_300_800_000, 10**18])
    def test_3c15_event_without_a_time_fails_by_default(self, root: Root, time_ms: int) -> None:
        with pytest.raises(EventError) as caught:
            Writer(root).flush(TIME_MS, [event(1, time_ms=time_ms)])
        assert caught.value.code == "no_event_time"

    @pytest.mark.parametrize("time_ms", [-1, -14_400_000, 253_402_300_800_000, 10**18])
    def test_3c15_event_without_a_time_goes_to_the_default_partition_by_setting(self, root: Root, time_ms: int) -> None:
        settings = SETTINGS.model_copy(
            update=dict(ArchiveSettings.model_validate({"root": "r", "table": "t", "on_no_time": "default_partition"}))
        )
        Writer(root, settings=settings).run(TIME_MS, [event(1), event(2, time_ms=time_ms)])
        assert visible(root) == {"20151210": [1], NO_TIME: [2]}
        (row,) = rows_in(root, Partition(root, f"dt={NO_TIME}"), START_S)
        assert row["_time"] is None

    @pytest.mark.parametrize("time_ms", [0, 1, 8_420])
    def test_start_of_1970_is_a_time(self, root: Root, time_ms: int) -> None:
        """As of a device whose clock is not set; Kafka's records without a time have -1."""
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "late": "36500d"})
        Writer(root, settings=settings).run(TIME_MS, [event(1), event(2, time_ms=time_ms)])
        assert visible(root) == {"20151210": [1], "19700101": [2]}
        (row,) = rows_in(root, Partition(root, "dt=19700101"), START_S)
        assert row["_time"] is not None
        with pytest.raises(EventError) as caught:
            Writer(root).flush(TIME_MS, [event(3, time_ms=time_ms)])
        assert caught.value.code == "late_event"

    def test_3c15_late_event_fails(self, root: Root) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1, time_ms=TIME_MS - 7 * DAY)])
        assert visible(root) == {"20151203": [1]}
        with pytest.raises(EventError, match="before the earliest") as caught:
            writer.flush(TIME_MS, [event(2, time_ms=TIME_MS - 7 * DAY - 1)])
        assert caught.value.code == "late_event"

    def test_early_event_fails(self, root: Root) -> None:
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "early": "2d"})
        writer = Writer(root, settings=settings)
        writer.run(TIME_MS, [event(1, time_ms=TIME_MS + 2 * DAY)])
        assert visible(root) == {"20151212": [1]}
        with pytest.raises(EventError, match="after the latest") as caught:
            writer.flush(TIME_MS, [event(2, time_ms=TIME_MS + 2 * DAY + 1)])
        assert caught.value.code == "early_event"
