"""The connection of a task to a store that loads files."""

from collections.abc import Callable, Sequence

import pytest

from ingest.api import Delete, LifecycleError, Mutation, Put, StoreUnavailableError, WriteRejectedError
from ingest.api.bulk_load import BulkLoading, LoadResult, WantsFiles
from sinks.bulk_load.loading import BulkLoadingStore
from sinks.bulk_load.modes import BEHIND, NAME, UP_TO_DATE, LoadRule
from sinks.memory import MemorySettings, MemoryStore

AUTO = LoadRule(3, None, only_behind=True, replicated=False)
ALWAYS = LoadRule(3, None, only_behind=False, replicated=True)
PUTS: list[Mutation] = [Put(row, {b"f:q": b"v"}, 1) for row in (b"a", b"b", b"c", b"n", b"o")]


class LoadingMemory(MemoryStore, BulkLoading):
    """
    A store with the regions up to m and from m on, which notes what it gets.

    Attributes:
        loads: rows of the files, for each load.
        calls: row keys of the calls.
        result: of what HBase would do: more fields of each result.
        rejected: a row that it rejects in a call.
    """

    def __init__(self) -> None:
        super().__init__(MemorySettings())
        self.loads: list[list[bytes]] = []
        self.calls: list[list[bytes]] = []
        self.replicated: list[bool] = []
        self.result = LoadResult()
        self.rejected = b""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self.calls.append([mutation.row for mutation in mutations])
        indexes = [index for index, mutation in enumerate(mutations) if mutation.row == self.rejected]
        if indexes:
            raise WriteRejectedError("rejected", indexes=indexes)

    def load(
        self,
        table: str,
        mutations: Sequence[Mutation],
        wants_files: WantsFiles,
        *,
        replicated: bool = False,
        on_progress: Callable[[], None] = lambda: None,
    ) -> LoadResult:
        self.replicated.append(replicated)
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

    def check_loading(self, table: str, *, replicated: bool) -> None:
        raise NotImplementedError


@pytest.fixture
def store() -> LoadingMemory:
    return LoadingMemory()


def layer(store: LoadingMemory, rule: LoadRule = ALWAYS, message: bytes | None = None) -> BulkLoadingStore:
    times = iter(range(100))
    made = BulkLoadingStore(store, {"t": rule}, clock=lambda: float(next(times)))
    made.begin({} if message is None else {"t": {NAME: message}}, lambda: None)
    return made


def test_regions_with_enough_rows_are_loaded_and_the_others_called(store: LoadingMemory):
    made = layer(store)
    made.apply("t", PUTS)
    assert (store.loads, store.calls) == ([[b"a", b"b", b"c"]], [[b"n", b"o"]])
    assert store.replicated == [True]
    assert made.take_counted() == {
        ("bulk_load_rows", "t"): 3,
        ("bulk_load_files", "t"): 1,
        ("bulk_load_seconds", "t"): 1.0,
    }
    assert not made.take_counted()


def test_other_tables_have_calls(store: LoadingMemory):
    layer(store).apply("u", PUTS)
    assert (store.loads, [row for call in store.calls for row in call]) == ([], [b"a", b"b", b"c", b"n", b"o"])


@pytest.mark.parametrize(("message", "loads"), [(BEHIND, 1), (UP_TO_DATE, 0), (None, 1)])
def test_table_with_auto_has_files_while_the_driver_says_that_it_is_behind(
    store: LoadingMemory, message: bytes | None, loads: int
):
    """A probe and a replay get no message."""
    layer(store, AUTO, message).apply("t", PUTS)
    assert len(store.loads) == loads


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
    store.result = LoadResult(unstaged="disk full", refused=True)
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
    made.begin({}, lambda: steps.append(len(store.calls)))
    made.apply("t", PUTS)
    assert steps == [0, 1]

    def end() -> None:
        raise StoreUnavailableError("abandoned")

    made.begin({}, end)
    with pytest.raises(StoreUnavailableError):
        made.apply("t", PUTS)
    assert len(store.calls) == 1


def test_store_that_loads_no_files_is_an_error():
    with pytest.raises(LifecycleError):
        BulkLoadingStore(MemoryStore(), {"t": ALWAYS})
