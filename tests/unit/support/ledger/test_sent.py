from pathlib import Path

from tests.support.ledger.events import COLUMNS, HASH, Events, Outcome, hash_of
from tests.support.ledger.producer import Entry, LedgerFile, Places, Status

EVENTS = Events("run", 3)
NUMBERS = range(1_200)


def test_the_same_seed_gives_the_same_events() -> None:
    assert [EVENTS.event(0, n) for n in NUMBERS] == [Events("run", 3).event(0, n) for n in NUMBERS]
    assert EVENTS.event(0, 1).body != Events("run", 4).event(0, 1).body or EVENTS.event(0, 1) != Events("run", 4).event(
        0, 1
    )
    assert EVENTS.row(0, 1) != Events("other", 3).row(0, 1)


def test_events_have_all_columns_and_a_hash_over_them() -> None:
    for number in NUMBERS:
        event = EVENTS.event(0, number)
        assert event.cells.keys() == COLUMNS
        assert event.cells[HASH] == event.hash == hash_of(event.cells)
        assert event.outcome is EVENTS.outcome(0, number)


def test_bodies_contain_every_byte_or_are_empty() -> None:
    bodies = [EVENTS.event(0, number).body for number in NUMBERS]
    assert b"" in bodies
    assert bytes(range(256)) in bodies
    assert max(map(len, bodies)) >= 65_535
    assert {EVENTS.outcome(0, number) for number in NUMBERS} == set(Outcome)


def test_all_events_are_stored_without_poison_and_drops() -> None:
    events = Events("run", 3, poison=0, dropped=0)
    assert {events.outcome(0, number) for number in NUMBERS} == {Outcome.STORED}


def test_events_of_one_row_are_in_one_partition() -> None:
    events = Events("run", 3, rows=10)
    assert len({events.row(0, number) for number in NUMBERS}) == 10
    assert events.row(0, 3) == events.row(0, 13)
    assert events.partition(3, 4) == events.partition(13, 4)


def test_size_and_outcome_of_single_events_can_be_set() -> None:
    events = Events("run", 3, sizes={5: 70_000}, dead={6: "cell_too_large"})
    assert len(events.event(0, 5).body) == 70_000
    assert events.outcome(0, 6) is Outcome.DEAD_LETTERED
    assert events.code(6) == "cell_too_large"


def test_event_without_a_response_is_unknown(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "new" / "ledger.tsv")
    assert file.entries() == []
    file.append(["sending\t0\t0\t2"])
    file.append(["ok\t0\t0\tt\t3\t17\tabc", "fail\t0\t1\tt\t-1\t-1\tdef"])
    file.append(["ok\t0\t2\tt\t3"])  # incomplete
    assert file.entries() == [
        Entry(0, 0, "t", 3, 17, b"abc", Status.OK),
        Entry(0, 1, "t", -1, -1, b"def", Status.FAIL),
        Entry(0, 2, "", -1, -1, b"", Status.INFO),
    ]


def test_fraction_of_acknowledged_events(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "ledger.tsv")
    assert Places(file).fraction({}) == 1.0
    file.append([f"ok\t0\t{number}\tt\t{number % 2}\t{number // 2}\tabc" for number in range(8)])
    file.append(["fail\t0\t8\tt\t-1\t-1\tabc"])
    places = Places(file)
    assert places.count == 8
    assert places.fraction({}) == 0.0
    assert places.fraction({0: 2, 1: 4}) == 0.75
    assert places.fraction({0: 9, 1: 9}) == 1.0
