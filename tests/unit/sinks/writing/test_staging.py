"""Staged mutations reach the store unchanged; damaged files are reported."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import failpoint
from ingest.api import Delete, Durability, FamilySpec, IntegrityError, LifecycleError, Mutation, Put, Scan, TableSpec
from sinks.memory import MemoryStore
from sinks.writing.apply_staged import APPLY_BYTES, apply_staged
from sinks.writing.staging import HEAD, StagedFile, StagingWriter, remove_leftovers


class Recording(MemoryStore):
    """A memory store that records its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, list[Mutation]]] = []
        self.open()

    def apply(self, table, mutations):
        self.calls.append((table, list(mutations)))


mutations = st.lists(
    st.one_of(
        st.builds(
            Put,
            st.binary(min_size=1, max_size=4),
            st.dictionaries(st.sampled_from([b"f:", b"f:a", b"g:\xff"]), st.binary(max_size=4), min_size=1),
            st.integers(min_value=0, max_value=3),
            st.sampled_from(Durability),
            ttl_ms=st.sampled_from([None, 7]),
        ),
        st.builds(
            Delete,
            st.binary(min_size=1, max_size=4),
            st.integers(min_value=0, max_value=3),
            durability=st.sampled_from(Durability),
        ),
        st.builds(
            Delete,
            st.binary(min_size=1, max_size=4),
            st.integers(min_value=0, max_value=3),
            st.just(b"f"),
            st.one_of(st.none(), st.just(b""), st.just(b"a")),
        ),
        st.builds(
            Delete,
            st.binary(min_size=1, max_size=4),
            st.integers(min_value=0, max_value=3),
            st.just(b"f"),
            st.just(b"a"),
            exact=st.booleans(),
        ),
    ),
    max_size=12,
)


def staged(path: Path, *calls: tuple[str, list[Mutation]]) -> StagedFile | None:
    writer = StagingWriter()
    writer.begin(str(path), {})
    for table, some in calls:
        writer.apply(table, some)
    return writer.finish()


def in_runs(some: list[Mutation]) -> list[Mutation]:
    """Within a run of one durability and ttl deletes come first; timestamps decide their effect, not the order."""
    result: list[Mutation] = []
    run: list[Mutation] = []
    for one in [*some, None]:
        if run and (one is None or (one.durability, one.ttl_ms) != (run[0].durability, run[0].ttl_ms)):
            result += [x for x in run if isinstance(x, Delete)] + [x for x in run if isinstance(x, Put)]
            run = []
        if one is not None:
            run.append(one)
    return result


@given(first=mutations, second=mutations)
@settings(max_examples=50)
def test_mutations_are_applied_unchanged(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("incoming")
    one = staged(folder / "a", ("t", first), ("u", second))
    store = Recording()
    apply_staged(store, [one] if one else [])
    assert [m for table, some in store.calls if table == "t" for m in some] == in_runs(first)
    assert [m for table, some in store.calls if table == "u" for m in some] == in_runs(second)


def test_no_file_without_mutations(tmp_path):
    assert staged(tmp_path / "a") is None
    assert list(tmp_path.iterdir()) == []


def test_calls_to_the_store_are_large_but_bounded(tmp_path):
    files = []
    for number in range(3):
        rows = [Put(b"%d-%d" % (number, i), {b"f:q": bytes(1024)}, 1) for i in range(5_000)]
        files.append(staged(tmp_path / str(number), *[("t", rows[at : at + 100]) for at in range(0, 5_000, 100)]))
    store = Recording()
    apply_staged(store, files)
    sizes = [sum(len(put.columns[b"f:q"]) for put in some) for _, some in store.calls]
    assert sum(len(some) for _, some in store.calls) == 15_000
    assert max(sizes) <= APPLY_BYTES
    assert len(sizes) <= 3


@pytest.mark.parametrize(("spare", "expected"), [(0, [2, 2, 1]), (-1, [1, 1, 1, 1, 1])])
def test_call_is_filled_up_to_the_limit(tmp_path, monkeypatch, spare, expected):
    files = [staged(tmp_path / str(number), ("t", [Put(b"r", {b"f:q": b"v"}, 1)])) for number in range(5)]
    monkeypatch.setattr("sinks.writing.apply_staged.APPLY_BYTES", 2 * (files[0].size_bytes - HEAD.size) + spare)
    store = Recording()
    apply_staged(store, files)
    assert [len(some) for _, some in store.calls] == expected


def test_alternating_tables_give_one_call_each(tmp_path):
    turns = [("t" if number % 2 else "u", [Put(b"%d" % number, {b"f:q": b""}, 1)]) for number in range(20)]
    store = Recording()
    apply_staged(store, [staged(tmp_path / "a", *turns)])
    assert [(table, len(some)) for table, some in store.calls] == [("u", 10), ("t", 10)]


def test_wal_flag_keeps_the_order_of_a_table(tmp_path):
    first, second = Put(b"r", {b"f:q": b"1"}, 1), Put(b"r", {b"f:q": b"2"}, 1, durability=Durability.SKIP)
    store = Recording()
    apply_staged(store, [staged(tmp_path / "a", ("t", [first]), ("t", [second]), ("t", [first]))])
    assert store.calls == [("t", [first]), ("t", [second]), ("t", [first])]


def test_calls_after_a_change_of_durability_are_filled_anew(tmp_path, monkeypatch):
    """The rows before it were sent, so they take no part of the next call."""
    one = Put(b"r", {b"f:q": b"v"}, 1)
    skipping = Put(b"s", {b"f:q": b"v"}, 1, durability=Durability.SKIP)
    files = [staged(tmp_path / str(number), ("t", [row])) for number, row in enumerate([one, skipping, skipping])]
    monkeypatch.setattr("sinks.writing.apply_staged.APPLY_BYTES", 2 * (files[1].size_bytes - HEAD.size))
    store = Recording()
    apply_staged(store, files)
    assert store.calls == [("t", [one]), ("t", [skipping, skipping])]


def test_each_call_reaches_a_failpoint(tmp_path, monkeypatch):
    reached: list[str] = []
    points = ("before_send", "between_sends")
    monkeypatch.setattr(failpoint, "_armed", {name: lambda name=name: reached.append(name) for name in points})
    one = Put(b"r", {b"f:q": b""}, 1)
    apply_staged(Recording(), [staged(tmp_path / "a", ("t", [one]), ("u", [one]), ("v", [one]))])
    assert reached == ["before_send", "between_sends", "between_sends"]


def test_value_larger_than_a_frame_is_applied(tmp_path):
    one = Put(b"r", {b"f:q": bytes(9 << 20)}, 1)
    store = Recording()
    apply_staged(store, [staged(tmp_path / "a", ("t", [one]))])
    assert store.calls == [("t", [one])]


def test_second_apply_changes_nothing(tmp_path):
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    file = staged(tmp_path / "a", ("t", [Put(b"r", {b"f:q": b"v"}, 5)]))
    for _ in range(2):
        apply_staged(store, [file])
    assert [row.key for row in store.scan("t", Scan())] == [b"r"]


def test_begin_replaces_an_unfinished_file(tmp_path):
    writer = StagingWriter()
    writer.begin(str(tmp_path / "a"), {})
    writer.apply("t", [Put(b"r", {b"f:q": bytes(2 << 20)}, 1)])
    writer.begin(str(tmp_path / "a"), {"t": frozenset([b"f"])})
    assert writer.families("t") == frozenset([b"f"])
    assert writer.families("u") is None
    assert writer.finish() is None
    assert list(tmp_path.iterdir()) == []


def test_close_removes_an_unfinished_file(tmp_path):
    writer = StagingWriter()
    writer.begin(str(tmp_path / "a"), {})
    writer.apply("t", [Put(b"r", {b"f:q": bytes(2 << 20)}, 1)])
    writer.close()
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_use_before_begin_is_a_bug(tmp_path):
    writer = StagingWriter()
    with pytest.raises(LifecycleError):
        writer.finish()
    with pytest.raises(LifecycleError):
        writer.apply("t", [Put(b"r", {b"f:q": bytes(2 << 20)}, 1)])


class TestDamage:
    @pytest.fixture
    def file(self, tmp_path) -> StagedFile:
        made = staged(tmp_path / "a", ("t", [Put(b"r", {b"f:q": b"v" * 100}, 1)]))
        assert made is not None
        return made

    def check(self, file: StagedFile, text: str) -> None:
        with pytest.raises(IntegrityError) as caught:
            apply_staged(Recording(), [file])
        assert file.path in str(caught.value)
        assert text in str(caught.value)

    def test_file_with_a_flipped_bit_is_refused(self, file):
        content = bytearray(Path(file.path).read_bytes())
        content[40] ^= 1
        Path(file.path).write_bytes(content)
        self.check(file, "at byte 0: the checksum differs")

    def test_file_that_is_cut_short_is_refused(self, file):
        content = Path(file.path).read_bytes()
        Path(file.path).write_bytes(content[:-1])
        self.check(file, "ends within a frame")

    def test_file_cut_within_a_head_is_refused(self, file):
        Path(file.path).write_bytes(Path(file.path).read_bytes()[:5])
        self.check(file, "ends within a frame's head")

    def test_empty_file_is_refused(self, file):
        Path(file.path).write_bytes(b"")
        self.check(file, f"it should have {file.size_bytes} bytes")

    def test_frame_longer_than_the_file_is_refused(self, file):
        content = bytearray(Path(file.path).read_bytes())
        content[3] = 0xFF
        Path(file.path).write_bytes(content)
        self.check(file, "a frame is longer than the file")

    def test_frame_longer_by_a_byte_is_refused_before_it_is_read(self, file):
        """Though the file goes on: bytes after its own are none of it."""
        content = bytearray(Path(file.path).read_bytes())
        length, checksum = HEAD.unpack_from(content)
        HEAD.pack_into(content, 0, length + 1, checksum)
        Path(file.path).write_bytes(content + b"x")
        self.check(file, "at byte 0: a frame is longer than the file")

    def test_missing_file_is_refused(self, file):
        Path(file.path).unlink()
        self.check(file, "is gone")


def test_leftovers_are_removed(tmp_path):
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "part-0").write_bytes(b"x")
    (tmp_path / "stray").write_bytes(b"x")
    assert remove_leftovers(str(tmp_path)) == 2
    assert list(tmp_path.iterdir()) == []
    assert remove_leftovers(str(tmp_path / "missing")) == 0


def test_entries_that_changed_within_the_idle_time_stay(tmp_path):
    """They may be of tasks that run in other processes."""
    now_s = time.time()
    for name, changed_s in {"old": now_s - 7_200, "young": now_s - 1_800, "new": now_s, "ahead": now_s + 7_200}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-0").write_bytes(b"x")
        os.utime(tmp_path / name, (changed_s, changed_s))
    assert remove_leftovers(str(tmp_path), idle_s=3_600) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"young", "new", "ahead"}
    assert remove_leftovers(str(tmp_path)) == 3
    assert list(tmp_path.iterdir()) == []
