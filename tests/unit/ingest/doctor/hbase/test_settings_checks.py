"""M1 to M12 and M19: configuration and load of a region server."""

import pytest

from ingest.api import FamilySpec, TableSpec
from ingest.doctor.examination import Severity
from ingest.doctor.hbase import settings_checks as checks
from ingest.doctor.hbase.inputs import MissingInputError, Writers
from ingest.doctor.hbase.server import Memory, OldName, RegionServer
from ingest.formats.hadoop_site import parsed

GIB, MIB = 1 << 30, 1 << 20
BUSY = 50 * MIB


def one(findings):
    (found,) = findings
    return found


def severities(*groups):
    return [found.severity.value for findings in groups for found in findings]


def site(**properties):
    """Properties of HBase by the last part of their names."""
    prefixes = {
        "maxlogs": "hbase.regionserver.",
        "blocksize": "hbase.regionserver.hlog.",
        "multiplier": "hbase.regionserver.logroll.",
        "lowerLimit": "hbase.regionserver.global.memstore.",
        "upperLimit": "hbase.regionserver.global.memstore.",
        "size": "hbase.regionserver.global.memstore.",
        "limit": "hbase.regionserver.global.memstore.size.lower.",
    }
    lines = [
        f"<property><name>{prefixes[name]}{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    ]
    content = f"<configuration>{''.join(lines)}</configuration>".encode()
    return RegionServer.of(parsed(content, "hbase-site.xml", hint="-"))


OF_1X = {"blocksize": 64 * MIB, "multiplier": 0.95, "maxlogs": 32}


@pytest.mark.parametrize(
    ("heap_gib", "settings", "expected"),
    [
        (16, {}, (6871947673, 6528350289, 102, 13690208256, 2.097, 48.64)),
        (32, {"maxlogs": 32}, (13743895347, 13056700579, 32, 4294967296, 0.329, 97.28)),
        (8, OF_1X, (3435973836, 3264175144, 32, 2040109440, 0.625, 24.32)),
        (1, {}, (429496729, 408021892, 32, 4294967296, 10.526, 3.04)),
        (16, {"lowerLimit": 0.35}, (6871947673, 6012954213, 102, 13690208256, 2.277, 44.80)),
    ],
)
def test_sizes_follow_from_settings_and_heap(heap_gib, settings, expected):
    memory = Memory(site(**settings), heap_gib * GIB)
    sizes = (memory.limit, memory.low_mark, memory.max_logs, memory.log_limit)
    ratio, fitting = memory.log_limit / memory.low_mark, memory.low_mark / memory.server.flush_size
    assert (*sizes, round(ratio, 3), round(fitting, 2)) == expected


@pytest.mark.parametrize(
    ("heap_gib", "settings", "load", "expected"),
    [
        (16, {}, (50, 50), (130567005, 124.52, 28.91, 6.554)),
        (16, {}, (200, 50), (32641751, 124.52, 28.91, 6.554)),
        (32, {"maxlogs": 32}, (50, 50), (134217728, 128.00, 28.12, 13.107)),
        (8, OF_1X, (20, 10), (134217728, 256.00, 14.06, 16.384)),
        (1, {}, (10, 5), (40802189, 77.82, 46.26, 4.096)),
        (16, {"lowerLimit": 0.35}, (50, 50), (120259084, 114.69, 31.39, 16.384)),
    ],
)
def test_flushes_follow_from_sizes_and_load(heap_gib, settings, load, expected):
    """The load is a number of regions, and MiB a second."""
    memory, (regions, rate) = Memory(site(**settings), heap_gib * GIB), (load[0], load[1] * MIB)
    seconds = memory.flush_size(regions) * regions / rate
    cushion_s = (memory.limit - memory.low_mark) / rate
    found = (memory.flush_size(regions), seconds, 3600 / seconds, cushion_s)
    assert found == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize(
    ("heap", "settings", "regions", "rate_mib", "expected"),
    [
        (16, {}, 50, 50, {"M7": "warning", "M9": "warning"}),
        (16, {}, 200, 50, {"M7": "error", "M9": "warning"}),
        (32, {"maxlogs": 32}, 50, 50, {"M5": "error"}),
        (8, OF_1X, 20, 10, {"M5": "warning"}),
        (1, {}, 10, 5, {"M7": "error", "M8": "info", "M9": "warning"}),
        (16, {"lowerLimit": 0.35}, 50, 50, {"M3": "warning", "M7": "warning"}),
    ],
)
def test_findings_of_a_server_under_load(heap, settings, regions, rate_mib, expected):
    server = site(**settings)
    memory, rate = Memory(server, heap * GIB), rate_mib * MIB
    found = [
        *checks.heap_left(server),
        *checks.memstore_size(server),
        *checks.old_names(server),
        *checks.lower_limit(server, memory),
        *checks.log_capacity(memory),
        *checks.long_replay(memory),
        *checks.regions(memory, regions),
        *checks.region_block(memory),
        *checks.cushion(memory, rate),
        *checks.files_per_hour(memory, rate, regions),
        *checks.families(server, 1),
    ]
    assert {each.check: each.severity.value for each in found} == expected
    assert all(each.docs == f"docs/guides/hbase-memory.md#{each.check.lower()}" and each.why for each in found)


class TestHeapLeft:
    @pytest.mark.parametrize(("memstores", "cache"), [(0.4, 0.4), (0.55, 0.25), (0.57, 0.23)])
    def test_twenty_percent_are_enough(self, memstores, cache):
        assert severities(checks.heap_left(RegionServer(memstore_size=memstores, block_cache=cache))) == []

    @pytest.mark.parametrize(
        ("memstores", "cache", "free", "value"), [(0.45, 0.4, 15, "0.35"), (0.41, 0.4, 19, "0.39")]
    )
    def test_less_is_critical(self, memstores, cache, free, value):
        found = one(checks.heap_left(RegionServer(memstore_size=memstores, block_cache=cache)))
        assert (found.check, found.severity, found.numbers["free_percent"]) == ("M1", Severity.CRITICAL, free)
        assert (found.property, found.value) == ("hfile.block.cache.size", value)

    def test_percent_are_those_of_floats_with_32_bits(self):
        """In 64 bits 0.29 * 100 is 28.999999999999996, so 28 %."""
        found = one(checks.heap_left(RegionServer(memstore_size=0.7, block_cache=0.29)))
        assert found.numbers["block_cache_percent"] == 29

    def test_value_that_hbase_ignores_does_not_count(self):
        assert severities(checks.heap_left(RegionServer(memstore_size=0.9))) == []

    @pytest.mark.parametrize(
        ("settings", "percent"),
        [
            # what servers of 2.5.13, 2.6.4 and 2.6.6 say with 4 GiB
            ({"block_cache_bytes": 1638 * MIB}, None),
            ({"block_cache_bytes": 1680 * MIB}, (40, 41, 19, 20)),
            ({"block_cache_bytes": 0}, None),
            ({"block_cache": 0.9, "block_cache_bytes": 512 * MIB}, None),
            ({"min_free_bytes": 1024 * MIB}, (40, 40, 20, 25)),
            ({"min_free_bytes": 512 * MIB}, None),
            ({"block_cache": 0.6, "min_free_bytes": 0}, None),
            ({"block_cache": 0.6, "min_free_bytes": -1}, (40, 60, 0, 20)),
            ({"memstore_bytes": 1720 * MIB}, (41, 40, 19, 20)),
            ({"memstore_size": 0.7, "memstore_bytes": 1024 * MIB}, None),
            ({"memstore_bytes": 3400 * MIB}, None),
        ],
    )
    def test_bytes_are_fractions_of_the_heap(self, settings, percent):
        server = RegionServer(**settings)
        found = [each.numbers for each in checks.heap_left(server, Memory(server, 4 * GIB))]
        names = ("memstore_percent", "block_cache_percent", "free_percent", "min_free_percent")
        assert [tuple(each[name] for name in names) for each in found] == ([] if percent is None else [percent])

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ({"block_cache_bytes": 2 * GIB}, ("hfile.block.cache.memory.size", "1717986918")),
            ({"min_free_bytes": 1 * GIB}, ("hfile.block.cache.size", "0.35")),
            ({"memstore_size": 0.75, "block_cache_bytes": 1 * GIB}, ("hfile.block.cache.memory.size", "214748364")),
            (
                {"memstore_bytes": 2 * GIB, "block_cache": 0.2, "min_free_bytes": 3 * GIB},
                ("hbase.regionserver.global.memstore.memory.size", "214748364"),
            ),
            ({"min_free_bytes": 3 * GIB}, ("hbase.regionserver.free.heap.min.memory.size", "858993459")),
            ({"memstore_size": 0.8, "min_free_bytes": 3 * GIB}, ("hbase.regionserver.free.heap.min.memory.size", "0")),
        ],
    )
    def test_property_that_is_set_is_the_one_to_change(self, settings, expected):
        server = RegionServer(**settings)
        found = one(checks.heap_left(server, Memory(server, 4 * GIB)))
        assert (found.property, found.value) == expected

    @pytest.mark.parametrize("name", ["block_cache_bytes", "min_free_bytes", "memstore_bytes"])
    def test_bytes_without_a_heap_leave_the_check_open(self, name):
        with pytest.raises(MissingInputError, match="memory"):
            list(checks.heap_left(RegionServer(**{name: 1})))


class TestMemstoreSize:
    def test_bytes_above_the_most_are_replaced_by_the_fraction(self):
        server = RegionServer(memstore_size=0.3, memstore_bytes=4000 * MIB)
        memory = Memory(server, 4 * GIB)
        found = one(checks.memstore_size(server, memory))
        assert (found.check, found.severity, found.value) == ("M2", Severity.ERROR, "3435973836")
        assert found.message == "global memstore size 3.91 GiB is above 3.20 GiB"
        assert found.why == "HBase logs a warning and uses 0.3 of the heap"
        assert memory.limit == 1288490188

    def test_bytes_in_range_are_the_limit(self):
        server = RegionServer(memstore_size=0.3, memstore_bytes=1 * GIB)
        memory = Memory(server, 4 * GIB)
        assert (severities(checks.memstore_size(server, memory)), memory.limit) == ([], GIB)

    @pytest.mark.parametrize("size", [0.0, -0.1, 0.81])
    def test_default_replaces_a_value_out_of_range(self, size):
        found = one(checks.memstore_size(RegionServer(memstore_size=size)))
        assert (found.check, found.severity, found.numbers["effective"]) == ("M2", Severity.ERROR, 0.4)
        assert Memory(RegionServer(memstore_size=size), 16 * GIB).limit == 6871947673

    @pytest.mark.parametrize("size", [0.01, 0.4, 0.8])
    def test_value_in_range_is_used(self, size):
        assert severities(checks.memstore_size(RegionServer(memstore_size=size))) == []


class TestOldNames:
    def test_old_name_alone_is_a_warning_with_the_value_in_force(self):
        found = one(checks.old_names(site(upperLimit=0.35)))
        assert (found.check, found.severity, found.numbers) == ("M3", Severity.WARNING, {"effective": 0.35})
        assert (found.property, found.value) == ("hbase.regionserver.global.memstore.size", "0.35")

    def test_old_and_present_name_with_different_values_are_an_error(self):
        server = site(upperLimit=0.35, size=0.45)
        found = one(checks.old_names(server))
        assert (found.severity, found.numbers) == (Severity.ERROR, {"effective": 0.45, "ignored": 0.35})
        assert server.memstore_size == 0.45

    def test_equal_values_are_a_warning(self):
        assert severities(checks.old_names(site(upperLimit=0.45, size=0.45))) == ["warning"]
        assert severities(checks.old_names(site(lowerLimit=0.38, limit=0.95))) == ["warning"]

    def test_old_lower_limit_is_a_fraction_of_the_heap(self):
        server = site(lowerLimit=0.35)
        assert server.old_names == (
            OldName(
                "hbase.regionserver.global.memstore.lowerLimit",
                "hbase.regionserver.global.memstore.size.lower.limit",
                pytest.approx(0.875),
                None,
            ),
        )
        assert severities(checks.old_names(site(lowerLimit=0.35, limit=0.9))) == ["error"]

    def test_present_names_are_no_finding(self):
        assert severities(checks.old_names(site(size=0.45, limit=0.9))) == []


class TestLowerLimit:
    @pytest.mark.parametrize("limit", [0.8, 0.95, 1.0])
    def test_usual_values_are_no_finding(self, limit):
        assert severities(checks.lower_limit(RegionServer(lower_limit=limit))) == []

    def test_value_above_1_is_used_as_1(self):
        memory = Memory(RegionServer(lower_limit=1.5), 16 * GIB)
        found = one(checks.lower_limit(memory.server, memory))
        assert (found.check, found.severity, found.numbers["low_bytes"]) == ("M4", Severity.ERROR, 6871947673)
        assert (found.property.endswith("size.lower.limit"), found.value) == (True, "0.95")

    def test_old_value_above_the_global_limit_is_used_as_1(self):
        server = site(lowerLimit=0.6)
        assert server.effective_lower_limit == 1.0
        assert severities(checks.lower_limit(server)) == ["error"]

    def test_low_value_is_a_warning(self):
        memory = Memory(RegionServer(lower_limit=0.5), 16 * GIB)
        found = one(checks.lower_limit(memory.server, memory))
        assert (found.severity, found.numbers["low_bytes"]) == (Severity.WARNING, 3435973836)


class TestLogCapacity:
    def test_value_to_set_is_the_one_that_hbase_calculates(self):
        found = one(checks.log_capacity(Memory(RegionServer(max_logs=32), 32 * GIB)))
        assert (found.property, found.value) == ("hbase.regionserver.maxlogs", "204")
        assert found.numbers == {"wal_bytes": 4294967296, "low_bytes": 13056700579, "ratio": 0.329}
        assert "ratio 0.33" in found.message

    def test_limits_are_exclusive(self):
        memory = Memory(RegionServer(max_logs=1), 2 * GIB)
        whole = memory.low_mark
        for wal_block, expected in ((2 * whole, []), (2 * whole - 2, ["warning"]), (whole - 1, ["error"])):
            server = RegionServer(max_logs=1, wal_block_size=wal_block)
            assert severities(checks.log_capacity(Memory(server, 2 * GIB))) == expected


class TestLongReplay:
    def test_many_logs_set_by_hand_are_an_info(self):
        found = one(checks.long_replay(Memory(RegionServer(max_logs=200), 16 * GIB)))
        assert (found.check, found.severity, found.value) == ("M6", Severity.INFO, "102")

    def test_number_that_hbase_calculates_is_no_finding(self):
        assert severities(checks.long_replay(Memory(RegionServer(), 1 * GIB))) == []

    def test_three_times_the_memstores_are_no_finding(self):
        server = RegionServer(max_logs=3, wal_block_size=2 * Memory(RegionServer(), 2 * GIB).low_mark)
        assert severities(checks.long_replay(Memory(server, 2 * GIB))) == []


class TestRegions:
    def test_more_memory_is_proposed_as_far_as_the_cache_leaves_some(self):
        found = one(checks.regions(Memory(RegionServer(block_cache=0.2), 16 * GIB), 60))
        assert (found.property, found.value) == ("hbase.regionserver.global.memstore.size", "0.5")
        assert found.hint == "or write to at most 48 regions of a server at a time"

    def test_else_a_larger_heap(self):
        found = one(checks.regions(Memory(RegionServer(), 16 * GIB), 50))
        assert (found.property, found.value) == ("HBASE_HEAPSIZE", "17G")
        assert found.numbers == {"fitting": 48.64, "regions": 50, "flush_bytes": 130567005}

    def test_more_memory_outside_the_heap(self):
        found = one(checks.regions(Memory(RegionServer(offheap_memstore=1024 * MIB), 16 * GIB), 10))
        assert (found.property, found.value) == ("hbase.regionserver.offheap.global.memstore.size", "1348")

    def test_severity_depends_on_the_excess(self):
        memory = Memory(RegionServer(lower_limit=1.0, offheap_memstore=10 * 128 * MIB), GIB)
        assert [severities(checks.regions(memory, count)) for count in (10, 11, 20, 21)] == [
            [],
            ["warning"],
            ["warning"],
            ["error"],
        ]


class TestRegionBlock:
    def test_region_that_blocks_after_the_server_is_an_info(self):
        found = one(checks.region_block(Memory(RegionServer(), GIB)))
        assert (found.check, found.severity) == ("M8", Severity.INFO)
        assert found.numbers == {"region_block_bytes": 536870912, "limit_bytes": 429496729}
        assert (found.property, found.value) == ("hbase.hregion.memstore.block.multiplier", "3")

    def test_flush_size_is_reduced_if_no_multiplier_fits(self):
        found = one(checks.region_block(Memory(RegionServer(), 512 * MIB)))
        assert (found.property, found.value) == ("hbase.hregion.memstore.flush.size", "53687091")

    def test_region_that_blocks_first_is_no_finding(self):
        assert severities(checks.region_block(Memory(RegionServer(), 2 * GIB))) == []


class TestCushion:
    def test_lower_mark_is_proposed(self):
        found = one(checks.cushion(Memory(RegionServer(), 16 * GIB), BUSY))
        assert (found.check, found.severity, found.numbers["seconds"]) == ("M9", Severity.WARNING, 6.554)
        assert (found.property.endswith("size.lower.limit"), found.value, found.hint) == (True, "0.92", "")

    def test_mark_is_not_proposed_below_its_usual_range(self):
        found = one(checks.cushion(Memory(RegionServer(), GIB), BUSY))
        assert (found.severity, found.value) == (Severity.ERROR, "0.8")
        assert "more heap" in found.hint

    def test_limits_are_exclusive(self):
        memory = Memory(RegionServer(lower_limit=0.9, offheap_memstore=1000), GIB)
        assert [severities(checks.cushion(memory, rate)) for rate in (10, 11, 33, 34)] == [
            [],
            ["warning"],
            ["warning"],
            ["error"],
        ]


class TestFilesPerHour:
    def test_larger_flush_size_is_proposed_if_it_fits(self):
        found = one(checks.files_per_hour(Memory(RegionServer(flush_size=32 * MIB), 16 * GIB), BUSY, 10))
        assert (found.check, found.severity) == ("M10", Severity.WARNING)
        assert found.numbers == {"flush_seconds": 6.4, "files_per_hour": 562.5}
        assert (found.property, found.value) == ("hbase.hregion.memstore.flush.size", str(300 * MIB))

    def test_else_more_memory(self):
        found = one(checks.files_per_hour(Memory(RegionServer(), GIB), BUSY, 10))
        assert (found.property, found.value) == ("HBASE_HEAPSIZE", "8G")

    def test_a_file_a_minute_is_no_finding(self):
        memory = Memory(RegionServer(flush_size=60_000, lower_limit=1.0), GIB)
        assert severities(checks.files_per_hour(memory, 1000.0, 1)) == []
        assert severities(checks.files_per_hour(memory, 1000.1, 1)) == ["warning"]


class TestFamilies:
    @pytest.mark.parametrize(("count", "expected"), [(1, []), (3, []), (4, ["warning"])])
    def test_more_than_three_are_a_warning(self, count, expected):
        assert severities(checks.families(RegionServer(), count)) == expected

    def test_small_flushes_are_a_warning(self):
        found = one(checks.families(RegionServer(flush_size=32 * MIB - 1), 2))
        assert (found.check, found.numbers["family_bytes"]) == ("M11", 16 * MIB - 1)
        assert (found.property, found.value) == ("hbase.hregion.memstore.flush.size", str(32 * MIB))
        assert severities(checks.families(RegionServer(flush_size=32 * MIB), 2)) == []

    def test_minimum_is_that_of_the_configuration(self):
        assert severities(checks.families(RegionServer(family_flush_min=65 * MIB), 2)) == ["warning"]


def test_families_without_compression_are_an_info():
    tables = (
        TableSpec("t", (FamilySpec(b"plain"), FamilySpec(b"packed", compression="zstd"))),
        TableSpec("u", (FamilySpec(b"\xff", compression="none"),)),
    )
    found = list(checks.compression(tables))
    assert [(each.check, each.severity, each.subject, each.numbers["family"]) for each in found] == [
        ("M12", Severity.INFO, "t", "plain"),
        ("M12", Severity.INFO, "u", "\\xff"),
    ]
    assert (found[0].property, found[0].value) == ("COMPRESSION", "SNAPPY")


def test_calls_of_all_handlers_may_take_a_tenth_of_the_heap():
    memory = Memory(RegionServer(handlers=30), 600 * MIB)
    assert severities(checks.calls_in_memory(memory, Writers(2 * MIB, uses_wal=True))) == []
    found = one(checks.calls_in_memory(memory, Writers(2 * MIB + 1, uses_wal=True)))
    assert (found.check, found.severity, found.numbers["call_bytes"]) == ("M19", Severity.WARNING, 30 * (2 * MIB + 1))
    assert (found.property, found.value) == ("write_buffer_size", "2048KiB")
