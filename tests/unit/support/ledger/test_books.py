from dataclasses import replace

import pytest

from tests.support.ledger.books import TRIES, Books
from tests.support.ledger.events import Outcome
from tests.support.ledger.invariants import Rule, Scrape
from tests.support.ledger.world import BATCH, COUNT, World


@pytest.fixture
def world() -> World:
    return World()


def books(world: World) -> Books:
    return Books(world.events, world.sent, world.observed, frozenset(), {})


def rules(wrong: list) -> set[Rule]:
    return {each.rule for each in wrong}


def counted(world: World) -> Scrape:
    """The counters of a service that has processed all events."""
    outcomes = [world.events.outcome(0, number) for number in range(COUNT)]
    stored, dead, dropped = (
        outcomes.count(outcome) for outcome in (Outcome.STORED, Outcome.DEAD_LETTERED, Outcome.DROPPED)
    )
    return Scrape(
        read=COUNT,
        stored=stored,
        dropped=dropped,
        dead_lettered=dead,
        rows_sent=stored,
        attempts=len(world.batches),
        batches=len(world.batches),
    )


def test_consistent_state_has_no_violations(world: World) -> None:
    assert books(world).while_dead()[1] == []
    judgement, wrong = books(world).at_the_end((), None, check_group=True)
    assert wrong == []
    assert books(world).about_metrics(judgement, counted(world), -1) == []
    assert books(world).about_redelivery([counted(world)], BATCH, None) == (0, [])
    totals = books(world).totals(judgement)
    assert (totals.sent, totals.lost, totals.corrupt) == (COUNT, 0, 0)
    assert totals.stored + totals.dead_lettered + totals.dropped == COUNT


def test_loss_breaks_rules(world: World) -> None:
    world.lose(world.referred())
    assert rules(books(world).while_dead()[1]) == {Rule.DURABLE, Rule.CLEAN}
    judgement, wrong = books(world).at_the_end((), None, check_group=True)
    assert rules(wrong) == {Rule.CONSERVATION, Rule.PREDICTED, Rule.CLEAN}
    assert books(world).totals(judgement).lost == 1


def test_predicted_loss_is_allowed(world: World) -> None:
    number = world.referred()
    world.lose(number)
    judgement, wrong = books(world).at_the_end({(0, number)}, 1, check_group=True)
    assert wrong == []
    assert books(world).about_metrics(judgement, counted(world), -1) == []


def test_predicted_loss_that_did_not_happen_breaks_a_rule(world: World) -> None:
    assert rules(books(world).at_the_end({(0, 0)}, 1, check_group=True)[1]) == {Rule.PREDICTED}


def test_loss_below_the_offsets_of_the_group_is_found(world: World) -> None:
    number = world.referred()
    world.lose(number)
    entry = world.entries[0, number]
    world.acknowledged = {entry.partition: entry.offset}
    wrong = books(world).while_dead()[1]
    assert Rule.DURABLE in rules(wrong)
    assert any("the group's offsets" in each.text for each in wrong)
    assert any("ahead of the checkpoint" in each.text for each in wrong)


def test_group_behind_the_checkpoint_is_found(world: World) -> None:
    world.group = {}
    assert rules(books(world).at_the_end((), None, check_group=True)[1]) == {Rule.CAUGHT_UP}
    assert books(world).at_the_end((), None, check_group=False)[1] == []
    assert books(world).while_dead()[1] == []


def test_metrics_of_a_later_process_count_its_own_batches(world: World) -> None:
    judgement = world.judged()
    assert rules(books(world).about_metrics(judgement, counted(world), 0)) == {Rule.METRICS}
    first = [key for place, key in world.places.items() if place[1] < BATCH]
    outcomes = [world.events.outcome(*key) for key in first]
    whole = counted(world)
    later = replace(
        whole,
        read=whole.read - len(first),
        stored=whole.stored - outcomes.count(Outcome.STORED),
        dropped=whole.dropped - outcomes.count(Outcome.DROPPED),
        dead_lettered=whole.dead_lettered - outcomes.count(Outcome.DEAD_LETTERED),
        batches=whole.batches - 1,
    )
    assert books(world).about_metrics(judgement, later, 0) == []


def test_too_many_rows_sent_again_are_found(world: World) -> None:
    whole = counted(world)
    one_batch = replace(whole, rows_sent=whole.stored + BATCH * TRIES, attempts=whole.attempts + 1)
    assert books(world).about_redelivery([one_batch], BATCH, None) == (BATCH * TRIES, [])
    assert rules(books(world).about_redelivery([one_batch], BATCH, 1)[1]) == {Rule.NO_DUPLICATES}
    too_many = replace(one_batch, rows_sent=one_batch.rows_sent + 1)
    assert rules(books(world).about_redelivery([too_many], BATCH, None)[1]) == {Rule.NO_DUPLICATES}
    overwritten = Books(replace(world.events, rows=10), world.sent, world.observed, frozenset(), {})
    assert overwritten.about_redelivery([too_many], BATCH, None) == (None, [])
