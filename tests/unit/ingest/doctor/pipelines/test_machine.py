"""Checks of this machine."""

import os
import sys
from pathlib import Path

import pytest

from ingest.amounts import size
from ingest.api import ConflictError, NotFoundError
from ingest.doctor.examination import Severity
from ingest.doctor.pipelines import machine
from ingest.doctor.pipelines.machine import OpenFiles

GIB, MIB = 1 << 30, 1 << 20


def severities(found):
    return [finding.severity.value for finding in found.findings]


def test_python_is_the_running_one():
    assert machine.python().text == f"Python {'.'.join(map(str, sys.version_info[:3]))}"


def test_spark_is_the_installed_one():
    assert machine.spark().text == "PySpark 4.2.0"


class TestJava:
    @pytest.mark.parametrize(
        ("output", "expected"),
        [
            ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', (17, 0, 15)),
            ('java version "1.8.0_202"', (8,)),
            ('openjdk version "21" 2023-09-19', (21,)),
        ],
    )
    def test_version_is_read(self, output, expected):
        assert machine.java_version(output) == expected

    def test_other_output_is_an_error(self):
        with pytest.raises(NotFoundError, match="prints no version: The operation"):
            machine.java_version("The operation couldn't be completed")

    def test_java_of_java_home_is_run(self, tmp_path, monkeypatch):
        command = tmp_path / "bin" / "java"
        command.parent.mkdir()
        command.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
        command.chmod(0o700)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        (finding,) = machine.java().findings
        assert (finding.severity, finding.message) == (Severity.ERROR, "Java 11.0.2 is older than 17")

    def test_missing_java_is_an_error(self, tmp_path, monkeypatch):
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(NotFoundError, match="of JAVA_HOME cannot be run"):
            machine.java()
        monkeypatch.delenv("JAVA_HOME")
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(NotFoundError, match="there is no java in PATH"):
            machine.java()


class TestOpenFiles:
    @pytest.mark.parametrize(
        ("limits", "has_rocksdb", "expected"),
        [
            (OpenFiles(1024, 4096), False, []),
            (OpenFiles(1023, 4096), False, ["error"]),
            (OpenFiles(1024, 16384), True, []),
            (OpenFiles(1024, 16383), True, ["warning"]),
            (OpenFiles(1024, 1023), True, ["error"]),
            (OpenFiles(-1, -1), True, []),
        ],
    )
    def test_rocksdb_uses_the_hard_limit(self, limits, has_rocksdb, expected):
        assert severities(machine.open_files(limits, has_rocksdb=has_rocksdb)) == expected

    def test_limits_of_this_process_are_read(self):
        limits = machine.read_open_files()
        assert limits.hard == -1 or 0 < limits.soft <= limits.hard


class TestMemory:
    @pytest.mark.parametrize(("total", "expected"), [(4 * GIB, []), (2500 * MIB, ["warning"]), (2 * GIB, ["error"])])
    def test_need_is_compared_with_the_machine(self, total, expected):
        """1 GiB of heap, 384 MiB of JVM, and three Python processes."""
        assert severities(machine.memory(total, GIB, 2)) == expected

    def test_large_events_are_counted_for_each_task(self):
        needed = 1408 * MIB + 3 * 256 * MIB + 2 * 4 * 63 * MIB
        found = machine.memory(4 * GIB, GIB, 2, event_bytes=64 * MIB)
        assert f"about {size(needed)} of" in found.text
        assert [severities(machine.memory(each, GIB, 2, 64 * MIB)) for each in (4 * GIB, 3 * GIB)] == [[], ["warning"]]

    def test_smaller_heap_is_proposed_if_one_fits(self):
        (finding,) = machine.memory(8 * GIB, 8 * GIB, 2).findings
        assert (finding.property, finding.value) == ("spark.driver_memory", "5401MiB")
        (finding,) = machine.memory(GIB, GIB, 2).findings
        assert finding.value == ""

    def test_memory_of_the_machine_is_read(self):
        assert 0 < machine.machine_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    def test_limit_of_a_control_group_counts(self, tmp_path, monkeypatch):
        (tmp_path / "limit").write_text("1000\n")
        (tmp_path / "none").write_text("max\n")
        files = tuple(tmp_path / name for name in ("none", "limit", "missing"))
        monkeypatch.setattr(machine, "_CGROUP_LIMITS", files)
        assert machine.machine_memory() == 1000

    @pytest.mark.parametrize(
        ("option", "conf", "expected"),
        [
            (None, None, GIB),
            (5, "2g", 5),
            (None, "2g", 2 * GIB),
            (None, "512m", 512 * MIB),
            (None, "1024K", MIB),
            (None, "2048", 2 * GIB),
            (None, "much", GIB),
        ],
    )
    def test_heap_of_the_driver(self, option, conf, expected):
        assert machine.driver_heap(option, {} if conf is None else {"spark.driver.memory": conf}) == expected

    @pytest.mark.parametrize(
        ("master", "expected"),
        [("local", 1), ("local[3]", 3), ("local[*]", 8), ("local[*,4]", 8), ("local[2, 4]", 2), ("spark://h:7077", 0)],
    )
    def test_tasks_on_this_machine(self, master, expected):
        assert machine.task_slots(master, 8) == expected


class TestDisk:
    @pytest.mark.parametrize(
        ("free", "stored", "expected"),
        [
            (10 * GIB, 0, []),
            (10 * GIB - 1, 0, ["warning"]),
            (GIB - 1, 0, ["error"]),
            (20 * GIB, 20 * GIB, []),
            (20 * GIB, 21 * GIB, ["warning"]),
        ],
    )
    def test_free_space_is_rated(self, free, stored, expected):
        assert severities(machine.rated_disk(free, "state", stored=stored)) == expected

    def test_store_is_named_if_a_compaction_does_not_fit(self):
        (finding,) = machine.rated_disk(20 * GIB, "data", stored=30 * GIB).findings
        assert finding.message == "only 20.00 GiB free, and the store has 30.00 GiB"
        assert "compaction" in finding.why

    def test_folder_may_not_exist_yet(self, tmp_path):
        assert machine.disk(tmp_path / "a" / "b").text.endswith(" free")

    def test_folder_that_cannot_be_written_is_an_error(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda _path, _mode: False)
        with pytest.raises(NotFoundError, match="no permission to write"):
            machine.disk(tmp_path / "a")

    @pytest.mark.parametrize("folder", ["file", "file/below", "file/below/it"])
    def test_a_folder_at_or_below_a_file_is_refused(self, tmp_path, folder):
        (tmp_path / "file").touch()
        with pytest.raises(ConflictError, match=r'file" is a file, so the folder ".*" cannot be created'):
            machine.disk(tmp_path / folder)

    def test_size_of_a_store_is_that_of_its_files(self, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b.sst").write_bytes(b"x" * 10)
        (tmp_path / "c.log").write_bytes(b"x")
        assert (machine.stored_in(tmp_path), machine.stored_in(Path("no such folder"))) == (11, 0)
