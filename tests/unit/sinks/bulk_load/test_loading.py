"""The connection of a task to a store that loads files."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest

from ingest.api import Delete, LifecycleError, Mutation, Put, StoreUnavailableError, WriteRejectedError
from ingest.api.bulk_load import NOTHING_CONFIRMED, BulkLoading, Confirmed, LoadResult, WantsFiles
from ingest.catalog import Catalog
from ingest.config import load
from sinks.bulk_load import loading
from sinks.bulk_load.feature import BulkLoad
from sinks.bulk_load.loading import BulkLoadingStore
from sinks.bulk_load.modes import BEHIND, KEPT_CYCLES, NAME, ONLY_CALLS, ONLY_CHECKED, UP_TO_DATE, LoadRule
from sinks.memory import MemorySettings, MemoryStore

CONFIRMED = Confirmed(replicated=True)
AUTO = LoadRule(3, None, only_behind=True)
ALWAYS = LoadRule(3, None, only_behind=False, confirmed=CONFIRMED)
PUTS: list[Mutation] = [Put(row, {b"f:q": b"v"}, 1) for row in (b"a", b"b", b"c", b"n", b"o")]


TABLES = """\
version: 1
stores: {s: {hbase: {bootstrap_servers: "localhost:1", staging: /tmp/staging}}}
tables:
  t: {families: {f: {}}, bulk_load: auto}
  never: {families: {f: {}}, bulk_load: never}
  plain: {families: {f: {}}}
pipelines:
  p:
    source: {files: {path: in}}
    decorators: [value: {attribute: 2hb_, value: '%{offset}'}, value: {attribute: '2hb_f:q', value: v}]
    sinks: [{attr2hbase: {table: t}}]
"""


class LoadingMemory(MemoryStore, BulkLoading):
    """
    A store with the regions up to m and from m on, which notes what it gets.

    Attributes:
        loads: rows of the files, for each load.
        calls: row keys of the calls.
        begun: number of flush cycles in which it may load.
        result: of what HBase would do: more fields of each result.
        rejected: a row that it rejects in a call.
    """

    def __init__(self) -> None:
        super().__init__(MemorySettings())
        self.loads: list[list[bytes]] = []
        self.calls: list[list[bytes]] = []
        self.confirmed: list[Confirmed] = []
        self.begun = 0
        self.result = LoadResult()
        self.rejected = b""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self.calls.append([mutation.row for mutation in mutations])
        indexes = [index for index, mutation in enumerate(mutations) if mutation.row == self.rejected]
        if indexes:
            raise WriteRejectedError("rejected", indexes=indexes)

    def begin_loads(self) -> None:
        self.begun += 1

    def load(
        self,
        table: str,
        mutations: Sequence[Mutation],
        wants_files: WantsFiles,
        *,
        confirmed: Confirmed = NOTHING_CONFIRMED,
        on_progress: Callable[[], None] = lambda: None,
    ) -> LoadResult:
        self.confirmed.append(confirmed)
        left: list[int] = []
        loaded: list[bytes] = []
        for start in (b"m", b""):
            own = [index for index, mutation in enumerate(mutations) if (mutation.row >= b"m") == (start == b"m")]
            if own and wants_files(start, len(own), 0):
                loaded += [mutations[index].row for index in own]
            else:
                left += own
        self.loads.append(loaded)
        on_progress()
        return LoadResult(len(loaded), 1, left, self.result.unstaged, self.result.refused)

    def check_load(
        self, table: str, mutations: Sequence[Mutation], wants_files: WantsFiles, *, confirmed: Confirmed
    ) -> None:
        if wants_files(b"", sum(mutation.row < b"m" for mutation in mutations), 0):
            self.confirmed.append(confirmed)

    def check_loading(self, table: str, *, confirmed: Confirmed) -> None:
        self.confirmed.append(confirmed)


@pytest.fixture
def store() -> LoadingMemory:
    return LoadingMemory()


def layer(
    store: LoadingMemory, rule: LoadRule = ALWAYS, message: bytes | None = None, times_ms: Collection[int] = (1, 0)
) -> BulkLoadingStore:
    times = iter(range(100))
    made = BulkLoadingStore(store, {"t": rule}, clock=lambda: float(next(times)))
    made.begin({} if message is None else {"t": {NAME: message}}, lambda: None, times_ms)
    return made


def test_rows_with_a_time_to_live_are_called(store: LoadingMemory):
    own = [Put(put.row, {b"f:q": b"v"}, 1, ttl_ms=5) for put in PUTS[:2]]
    made = layer(store)
    made.apply("t", [*own, *PUTS])
    assert (store.loads, store.calls) == ([[b"a", b"b", b"c"]], [[b"a", b"b", b"n", b"o"]])


def test_regions_with_enough_rows_are_loaded_and_the_others_called(store: LoadingMemory):
    made = layer(store)
    made.apply("t", PUTS)
    assert (store.loads, store.calls) == ([[b"a", b"b", b"c"]], [[b"n", b"o"]])
    assert (store.confirmed, store.begun) == ([CONFIRMED], 1)
    assert made.take_counted() == {
        ("bulk_load_rows", "t"): 3,
        ("bulk_load_files", "t"): 1,
        ("bulk_load_seconds", "t"): 1.0,
    }
    assert not made.take_counted()


def test_other_tables_have_calls(store: LoadingMemory):
    layer(store).apply("u", PUTS)
    assert (store.loads, [row for call in store.calls for row in call]) == ([], [b"a", b"b", b"c", b"n", b"o"])


@pytest.mark.parametrize(("message", "loads"), [(BEHIND, 1), (UP_TO_DATE, 0), (None, 1), (ONLY_CALLS, 0)])
def test_table_with_auto_has_files_while_the_driver_says_that_it_is_behind(
    store: LoadingMemory, message: bytes | None, loads: int
):
    """A job gets no message."""
    layer(store, AUTO, message).apply("t", PUTS)
    assert (len(store.loads), store.begun) == (loads, loads)


def test_replay_has_calls_whatever_the_rule_is(store: LoadingMemory):
    """It may write other values than before, with the same times, and a file may not replace a cell with its time."""
    layer(store, ALWAYS, ONLY_CALLS).apply("t", PUTS)
    assert store.loads == []


def test_further_attempt_has_calls_and_is_refused_what_its_files_would_bypass(store: LoadingMemory):
    layer(store, ALWAYS, ONLY_CHECKED).apply("t", PUTS)
    assert (store.loads, store.confirmed, store.calls) == ([], [CONFIRMED], [[b"a", b"b", b"c", b"n", b"o"]])


def test_check_of_a_further_attempt_gives_no_region_files(store: LoadingMemory):
    """Else its few rows would keep the mode of files when the pipeline is up to date again."""
    made = layer(store, AUTO, ONLY_CHECKED)
    made.apply("t", PUTS[:3])
    made.begin({"t": {NAME: UP_TO_DATE}}, lambda: None, (1,))
    made.apply("t", PUTS[:3])
    assert (store.loads, store.confirmed) == ([], [NOTHING_CONFIRMED])


def test_cells_with_times_of_events_have_calls(store: LoadingMemory):
    """Two events may give a cell different values at one time."""
    mutations: list[Mutation] = [*PUTS[:3], Put(b"d", {b"f:q": b"v"}, 7), Delete(b"e", 0, b"f")]
    layer(store).apply("t", mutations)
    assert (store.loads, store.calls) == ([[b"a", b"b", b"c", b"e"]], [[b"d"]])


def test_micro_batch_whose_rows_an_earlier_attempt_wrote_otherwise_has_calls(store: LoadingMemory):
    layer(store, times_ms=()).apply("t", PUTS)
    assert (store.loads, store.begun) == ([], 0)


def test_row_of_an_earlier_chunk_of_the_flush_cycle_has_a_call(store: LoadingMemory):
    """A full fold was sent, and then further events came for the row: the same time, and other values."""
    made = layer(store)
    made.apply("t", PUTS[:3])
    again: list[Mutation] = [Put(row, {b"f:q": b"w"}, 1) for row in (b"c", b"d", b"e", b"f")]
    made.apply("t", again)
    assert (store.loads, store.calls) == ([[b"a", b"b", b"c"], [b"d", b"e", b"f"]], [[b"c"]])
    made.begin({}, lambda: None, (2,))
    made.apply("t", [Put(put.row, {b"f:q": b"x"}, 2) for put in PUTS[:3]])
    assert store.loads[2:] == [[b"a", b"b", b"c"]]


def test_row_of_a_chunk_that_failed_is_loaded_when_it_is_sent_again(store: LoadingMemory):
    made = layer(store)
    store.rejected = b"o"
    with pytest.raises(WriteRejectedError):
        made.apply("t", PUTS)
    made.apply("t", PUTS[:3])
    assert store.loads == [[b"a", b"b", b"c"]] * 2


def test_rows_after_those_that_are_known_to_be_written_have_calls(store: LoadingMemory, monkeypatch):
    monkeypatch.setattr(loading, "MAX_SENT_ROWS", 3)
    made = layer(store)
    made.apply("t", PUTS[:3])
    made.apply("t", [Put(row, {b"f:q": b"v"}, 1) for row in (b"d", b"e", b"f")])
    assert (store.loads, store.calls) == ([[b"a", b"b", b"c"]], [[b"d", b"e", b"f"]])


def test_region_whose_files_are_refused_has_calls_for_ten_flush_cycles(store: LoadingMemory):
    made = layer(store)
    store.result = LoadResult(refused=[b""])
    for _ in range(KEPT_CYCLES + 1):
        made.begin({}, lambda: None, (1,))
        made.apply("t", PUTS[:3])
        store.result = LoadResult()
    first, *kept, last = store.loads
    assert (first, kept, last) == ([b"a", b"b", b"c"], [[]] * (KEPT_CYCLES - 1), [b"a", b"b", b"c"])


def test_calls_have_the_usual_size_and_puts_apart_from_deletes(store: LoadingMemory):
    value = b"v" * (1 << 20)
    mutations: list[Mutation] = []
    for number in range(5):
        mutations += [Delete(b"%d" % number, 1), Put(b"%d" % number, {b"f:q": value}, 2)]
    layer(store).apply("u", mutations)
    assert store.calls == [[b"0", b"1"], [b"2", b"3"], [b"4"], [b"0", b"1", b"2", b"3", b"4"]]
    store.calls.clear()
    layer(store).apply("u", [Put(b"%05d" % number, {b"f:q": b""}, 1) for number in range(10_001)])
    assert [len(call) for call in store.calls] == [10_000, 1]


def test_row_that_a_call_rejects_has_its_index_among_all(store: LoadingMemory):
    store.rejected = b"o"
    with pytest.raises(WriteRejectedError) as raised:
        layer(store).apply("t", PUTS)
    assert raised.value.indexes == [4]


def test_what_was_refused_is_counted(store: LoadingMemory):
    made = layer(store)
    store.result = LoadResult(unstaged="disk full", refused=[b"m"])
    made.apply("t", PUTS[3:])
    assert made.take_counted() == {
        ("bulk_load_files", "t"): 1,
        ("bulk_load_seconds", "t"): 1.0,
        ("bulk_load_refused", "t"): 1,
        ("bulk_load_unstaged", "t"): 1,
    }


def test_progress_is_reported_after_a_load_and_each_call_and_may_end_it(store: LoadingMemory):
    made = layer(store)
    steps: list[int] = []
    made.begin({}, lambda: steps.append(len(store.calls)), (1,))
    made.apply("t", PUTS)
    assert steps == [0, 1]

    def end() -> None:
        raise StoreUnavailableError("abandoned")

    made.begin({}, end, (1,))
    with pytest.raises(StoreUnavailableError):
        made.apply("t", PUTS)
    assert len(store.calls) == 1


def test_load_that_does_not_end_in_time_is_followed_by_calls_for_ten_flush_cycles(store: LoadingMemory):
    """A micro-batch that waits for a slow load runs again, in calls; the next ones must not wait for a load again."""

    def end() -> None:
        raise StoreUnavailableError("abandoned")

    made = layer(store)
    made.begin({}, end, (1,))
    with pytest.raises(StoreUnavailableError):
        made.apply("t", PUTS[:3])
    store.loads.clear()
    for _ in range(KEPT_CYCLES):
        made.begin({}, lambda: None, (1,))
        made.apply("t", PUTS[:3])
    assert store.loads == [[b"a", b"b", b"c"]]
    assert len(store.calls) == KEPT_CYCLES - 1


def test_store_that_loads_no_files_is_an_error():
    with pytest.raises(LifecycleError):
        BulkLoadingStore(MemoryStore(), {"t": ALWAYS})


def test_check_of_a_store_tells_of_tables_with_files(store: LoadingMemory, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(TABLES)
    tables = load(file, env={}, lookup=Catalog()).tables
    found = {name: BulkLoad().check_store(store, table) for name, table in tables.items()}
    assert found == {"t": "files for bulk load of {tables} can be staged and loads begun", "never": "", "plain": ""}
    assert store.confirmed == [NOTHING_CONFIRMED]
    assert BulkLoad().check_store(MemoryStore(MemorySettings()), tables["t"]) == ""
