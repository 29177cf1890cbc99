"""Each verdict and each rule of the ledger: a consistent state, with one fault at a time."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.ledger import invariants
from tests.support.ledger.events import BODY, HASH, NUMBER, POISON_CODE, Outcome, hash_of
from tests.support.ledger.invariants import Scrape
from tests.support.ledger.judging import judge, newest_numbers
from tests.support.ledger.observed import FoundDeadLetter
from tests.support.ledger.producer import Entry, Status
from tests.support.ledger.sent import SentEvents, settled
from tests.support.ledger.verdicts import Judgement, Verdict
from tests.support.ledger.world import COUNT, FIRST_MS, World

Cells = dict[bytes, tuple[int, bytes]]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def overwritten() -> World:
    return World(rows=100)


def wrong_with(judgement: Judgement) -> set[Verdict]:
    return set(judgement.wrong)


@pytest.mark.parametrize("rows", [None, 100])
def test_consistent_state_has_no_violations(rows: int | None) -> None:
    world = World(rows)
    judgement = world.judged()
    assert judgement.wrong == {}
    assert {bool(judgement.having(verdict)) for verdict in invariants.GOOD} == {True}
    assert invariants.conservation(SentEvents(world.entries, {}), judgement) == []
    assert invariants.no_duplicates(world.observed, rows_are_unique=True) == []
    for bounds in (None, world.ends):
        assert invariants.durable(SentEvents(world.entries, {}), world.judged(bounds=bounds), world.ends, "all") == []


def test_missing_row_is_lost_and_its_reference_dangles(world: World) -> None:
    number = world.referred()
    world.lose(number)
    judgement = world.judged()
    assert judgement.verdicts[0, number] is Verdict.LOST
    assert wrong_with(judgement) == {Verdict.LOST, Verdict.DANGLING}
    sent = SentEvents(world.entries, {})
    assert len(invariants.conservation(sent, judgement)) == 1
    assert len(invariants.durable(sent, judgement, world.ends, "commits")) == 1
    assert len(invariants.clean(judgement)) == 1
    assert len(invariants.as_predicted(judgement, (), 0)) == 1
    assert invariants.as_predicted(judgement, (), 1) == []
    assert invariants.as_predicted(judgement, {(0, number)}, 1) == []
    assert invariants.conservation(sent, judgement, {(0, number)}) == []


def test_loss_other_than_predicted_is_found(world: World) -> None:
    first = world.number(Outcome.STORED)
    world.lose(first)
    judgement = world.judged()
    assert len(invariants.as_predicted(judgement, {(0, world.number(Outcome.STORED, first + 1))}, 1)) == 1
    assert len(invariants.as_predicted(judgement, {(0, first)}, 2)) == 1


def test_dangling_reference_is_found_without_the_ledger(world: World) -> None:
    number = world.referred()
    world.lose(number)
    del world.entries[0, number]
    assert Verdict.DANGLING in wrong_with(world.judged())


def test_unacknowledged_event_may_be_missing(world: World) -> None:
    number = world.number(Outcome.STORED, least=COUNT - 100)
    world.lose(number)
    entry = world.entries[0, number]
    bounds = {**world.ends, entry.partition: entry.offset}
    judgement = world.judged(bounds=bounds)
    assert judgement.verdicts[0, number] is Verdict.PENDING
    assert judgement.wrong == {}
    assert invariants.durable(SentEvents(world.entries, {}), judgement, bounds, "commits") == []
    bounds[entry.partition] += 1
    assert world.judged(bounds=bounds).verdicts[0, number] is Verdict.LOST


@pytest.mark.parametrize("outcome", [Outcome.DEAD_LETTERED, Outcome.DROPPED])
def test_stored_event_that_must_fail_or_be_dropped_is_a_phantom(world: World, outcome: Outcome) -> None:
    number = world.number(outcome)
    world.put(number, world.time_of(number))
    assert wrong_with(world.judged()) == {Verdict.PHANTOM}
    assert len(invariants.clean(world.judged())) == 1


def test_stored_event_that_the_broker_refused_is_a_phantom(world: World) -> None:
    number = world.number(Outcome.STORED)
    world.entries[0, number] = world.entries[0, number]._replace(status=Status.FAIL, partition=-1, offset=-1)
    assert wrong_with(world.judged()) == {Verdict.PHANTOM}


@pytest.mark.parametrize("cells", [{b"d:x": (1, b"")}, {}], ids=["cells", "none"])
def test_row_of_no_event_is_a_phantom(world: World, cells: Cells) -> None:
    world.table[b"unknown"] = cells
    assert wrong_with(world.judged()) == {Verdict.PHANTOM}


def test_event_that_was_not_sent_is_a_phantom(world: World) -> None:
    world.put(COUNT + 1, FIRST_MS)
    assert wrong_with(world.judged()) == {Verdict.PHANTOM}


def change(cells: Cells) -> None:
    time_ms, value = cells[BODY]
    cells[BODY] = time_ms, value + b"\0"


def forget(cells: Cells) -> None:
    del cells[BODY]


def add(cells: Cells) -> None:
    cells[b"d:more"] = cells[BODY]


@pytest.mark.parametrize("spoil", [change, forget, add])
def test_changed_row_is_corrupt(world: World, spoil: Callable[[Cells], None]) -> None:
    number = world.number(Outcome.STORED)
    spoil(world.table[world.row(number)])
    judgement = world.judged()
    assert judgement.verdicts[0, number] is Verdict.CORRUPT
    assert wrong_with(judgement) == {Verdict.CORRUPT}
    assert len(invariants.clean(judgement)) == 1
    assert len(invariants.conservation(SentEvents(world.entries, {}), judgement)) == 1


def test_other_content_with_a_valid_hash_is_corrupt(world: World) -> None:
    number = world.number(Outcome.STORED)
    cells = world.table[world.row(number)]
    change(cells)
    cells[HASH] = cells[HASH][0], hash_of({column: value for column, (_, value) in cells.items()})
    assert wrong_with(world.judged()) == {Verdict.CORRUPT}


def test_event_in_the_row_of_another_is_corrupt(world: World) -> None:
    number = world.number(Outcome.STORED)
    other = world.number(Outcome.STORED, number + 1)
    world.table[world.row(number)] = dict(world.table[world.row(other)])
    judgement = world.judged()
    assert Verdict.CORRUPT in wrong_with(judgement)
    assert judgement.verdicts[0, number] is Verdict.CORRUPT


def test_cells_of_two_events_in_a_row_are_mixed(overwritten: World) -> None:
    row = overwritten.row(0)
    of_row = [n for n in range(0, COUNT, 100) if overwritten.events.outcome(0, n) is Outcome.STORED]
    older = overwritten.events.event(0, of_row[-2]).cells
    overwritten.table[row][BODY] = overwritten.table[row][BODY][0], older[BODY]
    assert wrong_with(overwritten.judged()) == {Verdict.MIXED}
    assert len(invariants.clean(overwritten.judged())) == 1


def test_cells_of_two_times_in_a_row_are_mixed(world: World) -> None:
    cells = world.table[world.row(world.number(Outcome.STORED))]
    cells[BODY] = cells[BODY][0] + 1, cells[BODY][1]
    assert wrong_with(world.judged()) == {Verdict.MIXED}


@pytest.mark.parametrize(("late_ms", "verdict"), [(1, Verdict.REGRESSED), (-1, Verdict.CORRUPT)])
def test_row_with_another_time_than_its_batch_is_found(world: World, late_ms: int, verdict: Verdict) -> None:
    number = world.number(Outcome.STORED)
    world.put(number, world.time_of(number) + late_ms)
    assert wrong_with(world.judged()) == {verdict}


def test_event_sent_twice_may_have_the_time_of_either_batch(world: World) -> None:
    number = world.number(Outcome.STORED)
    sent = SentEvents(world.entries, world.places | {(0, world.ends[0]): (0, number)})
    world.put(number, FIRST_MS + 99)
    assert judge(world.events, sent, world.observed).wrong == {}


def older_of_row(world: World) -> int:
    """The last but one event of the first row."""
    return [n for n in range(0, COUNT, 100) if world.events.outcome(0, n) is Outcome.STORED][-2]


def test_older_value_over_a_newer_one_has_regressed(overwritten: World) -> None:
    row, newest = overwritten.row(0), overwritten.table[overwritten.row(0)]
    older = older_of_row(overwritten)
    overwritten.put(older, overwritten.time_of(older))
    overwritten.older = {row: [(NUMBER, *newest[NUMBER])]}
    judgement = overwritten.judged()
    assert judgement.verdicts[0, int(newest[NUMBER][1])] is Verdict.REGRESSED
    assert wrong_with(judgement) == {Verdict.REGRESSED}
    assert len(invariants.no_regress(judgement)) == 1


def test_older_value_than_in_an_earlier_audit_has_regressed(overwritten: World) -> None:
    seen = newest_numbers(overwritten.observed.rows)
    older = older_of_row(overwritten)
    overwritten.put(older, overwritten.time_of(older))
    assert wrong_with(overwritten.judged(seen=seen)) == {Verdict.REGRESSED}
    assert wrong_with(overwritten.judged()) == {Verdict.LOST}


def test_older_value_than_in_the_versions_of_the_store_has_regressed(overwritten: World) -> None:
    newest = overwritten.table[overwritten.row(0)][NUMBER]
    older = older_of_row(overwritten)
    overwritten.put(older, overwritten.time_of(older))
    overwritten.versions = lambda row: [(NUMBER, *newest)] if row == overwritten.row(0) else []
    assert wrong_with(overwritten.judged()) == {Verdict.REGRESSED}


def test_missing_dead_letter_is_lost(world: World) -> None:
    number = world.number(Outcome.DEAD_LETTERED)
    entry = world.entries[0, number]
    del world.dead_letters[entry.partition, entry.offset]
    judgement = world.judged()
    assert judgement.verdicts[0, number] is Verdict.LOST
    assert len(invariants.conservation(SentEvents(world.entries, {}), judgement)) == 1


def dead_letter_of(world: World, number: int, *, code: str = POISON_CODE) -> FoundDeadLetter:
    event, entry = world.events.event(0, number), world.entries[0, number]
    return FoundDeadLetter(entry.partition, entry.offset, code, FIRST_MS, event.body, event.headers)


@pytest.mark.parametrize("outcome", [Outcome.STORED, Outcome.DROPPED])
def test_unexpected_dead_letter_is_corrupt(world: World, outcome: Outcome) -> None:
    number = world.number(outcome)
    dead_letter = dead_letter_of(world, number)
    world.dead_letters[dead_letter.partition, dead_letter.offset] = [dead_letter]
    world.table.pop(world.row(number), None)
    assert wrong_with(world.judged()) == {Verdict.CORRUPT}
    assert wrong_with(world.judged(codes=frozenset({POISON_CODE}))) == set()


def test_dead_letter_with_another_code_or_content_is_corrupt(world: World) -> None:
    number = world.number(Outcome.DEAD_LETTERED)
    dead_letter = dead_letter_of(world, number)
    for spoiled in (
        replace(dead_letter, code="bad_json"),
        replace(dead_letter, value=b"other"),
        replace(dead_letter, headers=()),
    ):
        world.dead_letters[dead_letter.partition, dead_letter.offset] = [spoiled]
        assert wrong_with(world.judged()) == {Verdict.CORRUPT}


def test_dead_lettered_event_that_is_stored_is_a_phantom(world: World) -> None:
    dead_letter = dead_letter_of(world, world.number(Outcome.STORED), code="known")
    world.dead_letters[dead_letter.partition, dead_letter.offset] = [dead_letter]
    assert wrong_with(world.judged(codes=frozenset({"known"}))) == {Verdict.PHANTOM}


def test_second_dead_letter_of_a_record_is_a_duplicate(world: World) -> None:
    dead_letter = dead_letter_of(world, world.number(Outcome.DEAD_LETTERED))
    world.dead_letters[dead_letter.partition, dead_letter.offset] = [
        dead_letter,
        replace(dead_letter, batch_time_ms=FIRST_MS + 1),
    ]
    assert len(invariants.no_duplicates(world.observed, rows_are_unique=True)) == 1


def test_older_version_of_a_row_written_once_is_a_duplicate(world: World) -> None:
    world.older = {world.row(0): [(BODY, FIRST_MS - 1, b"")]}
    assert len(invariants.no_duplicates(world.observed, rows_are_unique=True)) == 1
    assert invariants.no_duplicates(world.observed, rows_are_unique=False) == []


def test_rows_sent_again_are_bounded_by_attempts_and_retries() -> None:
    life = Scrape(stored=1_000, rows_sent=1_400, attempts=6, batches=5)
    assert invariants.redelivered([life, replace(life, rows_sent=900)]) == 400
    assert invariants.bounded([life], 100, 4) == []
    assert len(invariants.bounded([life], 99, 4)) == 1
    assert len(invariants.bounded([replace(life, attempts=5)], 100, 4)) == 1
    assert invariants.bounded([replace(life, attempts=5, retries=4)], 100, 4) == []


def test_uncounted_rows_of_a_killed_process_are_added() -> None:
    life = Scrape(stored=1_000, rows_sent=1_000, attempts=5, batches=5)
    dead = invariants.found_dead(life, 80)
    assert invariants.redelivered([dead]) == 80
    assert invariants.bounded([dead], 100, 4) == []
    counted = replace(life, rows_sent=1_100, attempts=6)
    assert invariants.found_dead(counted, 80) == counted
    assert invariants.found_dead(Scrape(), 0) == Scrape()


@pytest.mark.parametrize("name", ["read", "stored", "dropped", "dead_lettered", "batches"])
def test_wrong_metric_is_found(name: str) -> None:
    truth = Scrape(read=4, stored=2, dropped=1, dead_lettered=1, batches=3)
    assert invariants.metrics_are_true(truth, truth) == []
    assert len(invariants.metrics_are_true(truth, replace(truth, **{name: 9}))) == 1


def test_group_offsets_that_differ_from_the_checkpoint_are_found() -> None:
    ends = {0: 10, 1: 20}
    assert invariants.caught_up(ends, ends) == invariants.not_ahead(ends, ends) == []
    assert invariants.caught_up(ends, None) == []
    for group in ({0: 10}, {0: 10, 1: 19}):
        assert len(invariants.caught_up(ends, group)) == 1
        assert invariants.not_ahead(ends, group) == []
    assert len(invariants.not_ahead(ends, {0: 10, 1: 21})) == 1


def test_unknown_status_is_resolved_by_the_topic(world: World) -> None:
    entries = [
        world.entries[0, 0],
        Entry(0, 1, "", -1, -1, b"", Status.INFO),
        Entry(0, 2, "", -1, -1, b"", Status.INFO),
        world.entries[0, 0]._replace(offset=9),
    ]
    unsettled = settled(entries)
    assert unsettled.entries[0, 1].status is Status.INFO
    assert unsettled.entries[0, 0].offset == 0
    assert unsettled.again == {(0, 0)}
    sent = settled(entries, {(0, 0): (0, 0), (0, 9): (0, 0), (1, 5): (0, 1)})
    assert sent.entries[0, 1] == Entry(0, 1, "", 1, 5, b"", Status.OK)
    assert sent.entries[0, 2].status is Status.FAIL


def test_event_with_unknown_status_may_be_stored_or_missing(world: World) -> None:
    number = world.number(Outcome.STORED)
    world.entries[0, number] = Entry(0, number, "", -1, -1, b"", Status.INFO)
    assert world.judged().wrong == {}
    world.lose(number)
    assert world.judged().wrong == {}
