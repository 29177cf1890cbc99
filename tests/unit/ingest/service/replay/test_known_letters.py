"""What the tables with deferred updates know of dead letters, for a replay of these."""

import pytest

from ingest.api import ConflictError
from ingest.dead_letters.replay_batches import SkipReason
from ingest.service.replay.known_letters import KnownLetters
from ingest.service.replay.update_history import UpdateHistory
from sinks.rewriting.counted_letters import CountedLetters
from sinks.rewriting.owned_letters import CountedRecords
from sinks.updates.intervals import Interval

PLACE = ("t", 0, 5)
SINKS = {"hits": "counts"}


def known_of(letters: CountedLetters, *, recount: bool = False) -> KnownLetters:
    return KnownLetters(sinks=SINKS, read=lambda: {"counts": letters}, has_log=False, recount=recount)


def test_dead_letters_that_a_table_has_forgotten_are_refused_also_without_a_batch_log():
    """A replay may have counted them, or their micro-batch may have run again: `run --recount`, or a full record."""
    letters = CountedLetters(unknown_ms=800).with_run_again([Interval(900, 910)])
    history = UpdateHistory(known_of(letters))
    with pytest.raises(ConflictError, match="the table record no longer has the micro-batch of 1970") as refused:
        history.skip_reasons(PLACE, PLACE, frozenset({"hits"}), 800)
    assert (refused.value.code, "--recount" in str(refused.value.hint)) == ("batch_not_logged", False)
    assert history.skip_reasons(PLACE, PLACE, frozenset({"hits", "plain"}), 905) == {"hits": SkipReason.RAN_AGAIN}
    assert history.skip_reasons(PLACE, PLACE, frozenset({"hits"}), 1_000) == {"hits": None}
    recounted = UpdateHistory(known_of(letters, recount=True))
    assert recounted.skip_reasons(PLACE, PLACE, frozenset({"hits"}), 800) == {"hits": None}


def test_records_that_the_replay_has_counted_are_known_until_they_are_read_again():
    known = known_of(CountedLetters())
    known.add(2_000, [CountedRecords("counts", "hits", 1_000, [(PLACE, 7)])])
    assert known.times_of("hits", ("t", 0, 6), 1_000) == [2_000]
    assert known.cuts(("t", 0, 0), 10) == {5, 7}
    known.refresh()
    assert known.times_of("hits", ("t", 0, 6), 1_000) == []
