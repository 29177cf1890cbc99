"""Random histories of updates, compactions, crashes and rollbacks, against a list of all updates."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from sinks.updates.compaction import CompactionRules
from sinks.updates.groups import UpdateRow, by_row, merged_row
from sinks.updates.keys import UpdateKey
from sinks.updates.merging import Merging
from sinks.updates.processors.last_n import LastN
from tests.support.update_rows import FOREVER, UpdateTable

COLUMNS = (b"f:a", b"f:b", b"g:a")
WINDOW = 16
MERGING = Merging(LastN(LastN.settings_class()(n=4)), [b"f"])

columns = st.dictionaries(st.sampled_from(COLUMNS), st.binary(max_size=2), min_size=1)
updates = st.tuples(st.just("update"), st.sampled_from([b"a", b"a\x00", b"ab"]), st.integers(1, 9), columns)
rules = st.builds(
    CompactionRules,
    bound=st.integers(1, 200) | st.just(FOREVER),
    window=st.just(WINDOW),
    max_rows=st.sampled_from([1, 2, 3, 5, 1_000]),
    max_bytes=st.sampled_from([1, 30, 1_000]),
)
compactions = st.tuples(st.just("compact"), rules, st.none() | st.integers(0, 12))
rollbacks = st.tuples(st.just("roll back"), st.integers(0, 8), st.integers(0, 8), st.none() | st.integers(0, 5))
histories = st.lists(updates | updates | compactions | rollbacks, max_size=40)


class Model:
    """All updates that were not rolled back: (row, start) -> values of its columns."""

    def __init__(self) -> None:
        self.updates: dict[tuple[bytes, int], dict[bytes, bytes]] = {}

    def values(self) -> dict[bytes, dict[bytes, bytes]]:
        """Row -> column -> value, with the definition of last_n."""
        found: dict[bytes, dict[bytes, list[bytes]]] = {}
        for (row, _), values in sorted(self.updates.items()):
            for column, value in values.items():
                found.setdefault(row, {}).setdefault(column, []).append(value)
        return {
            row: {
                column: values[-1] if column.startswith(b"g") else newest(values) for column, values in columns.items()
            }
            for row, columns in found.items()
        }


def newest(values: list[bytes]) -> bytes:
    processor = LastN(LastN.settings_class()(n=1))
    return b"[%b]" % b",".join(processor.update(value)[1:-1] for value in reversed(values[-4:]))


@given(histories)
def test_reads_return_what_all_updates_merged_at_once_would(history: list) -> None:
    table, model, start = UpdateTable(MERGING), Model(), 0
    for action in history:
        match action:
            case "update", row, gap, values:
                start += gap
                table.add(row, start, values)
                model.updates[row, start] = values
            case "compact", rules, calls:
                table.compact(rules, calls=calls)
            case _, first, length, calls:
                # whole windows, so that no merged row is divided
                last = (first + length) * WINDOW + WINDOW - 1
                table.roll_back(first * WINDOW, last, calls=calls)
                assert table.roll_back(first * WINDOW, last).straddling == ()
                for key in [key for key in model.updates if first * WINDOW <= key[1] <= last]:
                    del model.updates[key]
        assert table.values() == model.values()
    for column in COLUMNS:
        assert values_of(table, column) == {
            row: values[column] for row, values in model.values().items() if column in values
        }


def values_of(table: UpdateTable, column: bytes) -> dict[bytes, bytes]:
    """Row -> value, read without the other columns: a store returns no rows that have none of the columns."""
    rows = [UpdateRow(row.key, {column: row.columns[column]}) for row in table.rows() if column in row.columns]
    return {row: merged_row(group, MERGING).columns[column] for row, group in by_row(rows)}


@given(st.lists(updates, max_size=30), st.lists(compactions, max_size=4), rules)
def test_a_second_compaction_changes_nothing(history: list, earlier: list, last: CompactionRules) -> None:
    table, starts = UpdateTable(MERGING), count(1)
    for _, row, _, values in history:
        table.add(row, next(starts), values)
    for _, rules, calls in earlier:
        table.compact(rules, calls=calls)
    table.compact(last)
    assert table.parts(last) == []
    assert all(UpdateKey.decoded(key).last // WINDOW == UpdateKey.decoded(key).start // WINDOW for key in table.stored)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from([1, 2, 3, "x"]), st.integers(0, 3)), max_size=20),
    st.lists(compactions, max_size=4),
)
def test_a_value_that_cannot_be_merged_is_reported_before_and_after_compactions(history: list, later: list) -> None:
    """The sums of all other columns are exact."""
    table, start, totals, bad = UpdateTable(), 0, {}, set()
    for gap, value, number in history:
        start += gap
        column = b"f:%d" % number
        table.stored[UpdateKey(b"k", start).encoded()] = {column: str(value).encode()}
        if value == "x":
            bad.add(column)
        else:
            totals[column] = totals.get(column, 0) + value
    for _, rules, calls in later:
        table.compact(rules, calls=calls)
        for found in table.read().values():
            reported = {unmerged.column for unmerged in found.unmerged}
            shown = {column: value for column, value in found.columns.items() if column not in bad}
            assert shown == {column: b"%d" % total for column, total in totals.items() if column not in bad}
            # a single update is returned as it is, and not checked
            assert reported <= bad
            assert {column for column in bad - reported if found.columns[column] != b"x"} == set()


@given(histories, st.integers(0, 150), st.integers(0, 150))
def test_a_rollback_of_any_interval_reports_what_it_leaves(history: list, first: int, last: int) -> None:
    """Each update row stays or goes as a whole, and what stays in part is named."""
    table, start = UpdateTable(MERGING), 0
    for action in history:
        match action:
            case "update", row, gap, values:
                start += gap
                table.add(row, start, values)
            case "compact", rules, _:
                table.compact(rules)
    before = {row.key for row in table.rows()}
    found = table.roll_back(first, last)
    inside = {key for key in before if first <= key.start and key.last <= last}
    across = {key for key in before - inside if key.start <= last and first <= key.last}
    assert set(found.deletes) == inside
    assert set(found.straddling) == across
