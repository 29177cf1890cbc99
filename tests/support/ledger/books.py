"""Compares the ledger with the actual state by all rules."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tests.support.ledger import invariants
from tests.support.ledger.events import Events
from tests.support.ledger.invariants import Rule, Scrape, Wrong
from tests.support.ledger.judging import judge
from tests.support.ledger.observed import Key, Observed
from tests.support.ledger.sent import BatchIndex, SentEvents
from tests.support.ledger.verdicts import Judgement, Verdict

TRIES = 4  # calls for a chunk in one attempt


@dataclass(frozen=True)
class Totals:
    """
    The result of a run in numbers.

    Attributes:
        redelivered: number of rows sent again; None if rows are overwritten anyway.
        corrupt: number of rows that are invented, changed, torn, mixed, dangling or regressed.
        predicted: predicted number of lost events; None if none may be lost.
    """

    sent: int
    stored: int
    dead_lettered: int
    dropped: int
    redelivered: int | None
    lost: int
    corrupt: int
    predicted: int | None = None


@dataclass(frozen=True)
class Books:
    """
    The ledger and the actual state at one time.

    Attributes:
        codes: error codes of dead letters that are allowed in place of stored events.
        seen: row -> highest event number that an earlier audit found.
    """

    events: Events
    sent: SentEvents
    observed: Observed
    codes: frozenset[str]
    seen: Mapping[bytes, int]

    def while_dead(self) -> tuple[Judgement, list[Wrong]]:
        """Check while the service is down: everything acknowledged in checkpoint or group is durable."""
        checkpoint, group = self.observed.acknowledged, self.observed.group or {}
        bounds = {part: max(checkpoint.get(part, 0), group.get(part, 0)) for part in checkpoint.keys() | group.keys()}
        judgement = judge(self.events, self.sent, self.observed, bounds=bounds, codes=self.codes, seen=self.seen)
        wrong = self._always(judgement)
        wrong += invariants.durable(self.sent, judgement, checkpoint, "the checkpoint's offsets")
        wrong += invariants.durable(self.sent, judgement, group, "the group's offsets")
        return judgement, wrong

    def at_the_end(
        self, may_be_lost: Collection[Key], predicted: int | None, *, check_group: bool
    ) -> tuple[Judgement, list[Wrong]]:
        """
        Check after everything is acknowledged.

        Args:
            may_be_lost: events that were predicted to be lost; empty if only their number is known.
            predicted: predicted number of lost events; None if none may be lost.
            check_group: whether the group's offsets must equal the checkpoint's.
        """
        judgement = judge(self.events, self.sent, self.observed, codes=self.codes, seen=self.seen)
        if predicted is not None:  # remaining rows may refer to lost ones
            judgement.wrong.pop(Verdict.DANGLING, None)
        wrong = self._always(judgement)
        lost = () if predicted is None else judgement.having(Verdict.LOST)
        wrong += invariants.conservation(self.sent, judgement, lost)
        wrong += invariants.as_predicted(judgement, may_be_lost, predicted or 0)
        if check_group:
            wrong += invariants.caught_up(self.observed.acknowledged, self.observed.group)
        return judgement, wrong

    def about_metrics(self, judgement: Judgement, life: Scrape, last_before: int) -> list[Wrong]:
        """
        Compare /metrics of the last process with the audit of the batches that this process acknowledged.

        Args:
            life: counters of the process.
            last_before: newest batch that an earlier process acknowledged; -1 for none.
        """
        batches = BatchIndex([batch for batch in self.observed.batches if batch.number > last_before])
        found = {Verdict.STORED: 0, Verdict.DEAD_LETTERED: 0, Verdict.DROPPED_BY_RULE: 0}
        for place, key in self.sent.places.items():
            if batches.of(*place) is not None:
                verdict = judgement.verdicts.get(key)
                if verdict is Verdict.LOST:  # it was stored, and the store lost it
                    verdict = Verdict.STORED
                if verdict in found:
                    found[verdict] += 1
        expected = Scrape(
            read=sum(found.values()),
            stored=found[Verdict.STORED],
            dropped=found[Verdict.DROPPED_BY_RULE],
            dead_lettered=found[Verdict.DEAD_LETTERED],
            batches=len(batches),
        )
        return invariants.metrics_are_true(expected, life)

    def about_redelivery(
        self, lives: Collection[Scrape], batch_size: int, most: int | None
    ) -> tuple[int | None, list[Wrong]]:
        """Number of rows sent again, and violations if it exceeds the repeated batches or `most`."""
        if self.events.rows is not None:
            return None, []
        again = invariants.redelivered(lives)
        if most is None:
            return again, invariants.bounded(lives, batch_size, TRIES)
        text = f"{again} rows were sent again, at most {most} may be"
        return again, [Wrong(Rule.NO_DUPLICATES, text)] if again > most else []

    def totals(self, judgement: Judgement, redelivered: int | None = None, predicted: int | None = None) -> Totals:
        """The result in numbers."""
        wrong_rows = (*invariants.UNCLEAN, Verdict.REGRESSED)
        return Totals(
            sent=len(judgement.verdicts),
            stored=len(judgement.having(Verdict.STORED)),
            dead_lettered=len(judgement.having(Verdict.DEAD_LETTERED)),
            dropped=len(judgement.having(Verdict.DROPPED_BY_RULE)),
            redelivered=redelivered,
            lost=len(judgement.having(Verdict.LOST)),
            corrupt=sum(len(judgement.wrong.get(verdict, ())) for verdict in wrong_rows),
            predicted=predicted,
        )

    def _always(self, judgement: Judgement) -> list[Wrong]:
        is_unique = self.events.rows is None and not self.sent.again
        return [
            *invariants.not_ahead(self.observed.acknowledged, self.observed.group),
            *invariants.clean(judgement),
            *invariants.no_regress(judgement),
            *invariants.no_duplicates(self.observed, rows_are_unique=is_unique),
        ]
