"""The rules; each is a function that returns its violations."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from tests.support.ledger.observed import Key, Observed
from tests.support.ledger.producer import Status
from tests.support.ledger.sent import SentEvents
from tests.support.ledger.verdicts import SHOWN, Judgement, Verdict

GOOD = (Verdict.STORED, Verdict.DEAD_LETTERED, Verdict.DROPPED_BY_RULE)
UNCLEAN = (Verdict.PHANTOM, Verdict.CORRUPT, Verdict.MIXED, Verdict.DANGLING)


class Rule(StrEnum):
    """A rule that holds under every fault."""

    CONSERVATION = "conservation"
    DURABLE = "acknowledged is durable"
    CLEAN = "nothing invented, changed or torn"
    NO_REGRESS = "no regression"
    NO_DUPLICATES = "no duplicates"
    CAUGHT_UP = "caught up"
    METRICS = "metrics match the audit"
    PREDICTED = "only what was predicted is lost"
    PROVEN = "the fault is proven"
    EXIT_CODE = "exit code"


class Wrong(NamedTuple):
    """A broken rule, and the evidence."""

    rule: Rule
    text: str


@dataclass(frozen=True)
class Scrape:
    """
    Counters of one process of the service, for this pipeline.

    Attributes:
        read, stored, dropped, dead_lettered: events of acknowledged batches.
        rows_sent: rows of all attempts.
        attempts: attempts at micro-batches.
        batches: acknowledged micro-batches.
        retries: repeated calls to the store.
    """

    read: int = 0
    stored: int = 0
    dropped: int = 0
    dead_lettered: int = 0
    rows_sent: int = 0
    attempts: int = 0
    batches: int = 0
    retries: int = 0


def conservation(sent: SentEvents, judgement: Judgement, lost: Collection[Key] = ()) -> list[Wrong]:
    """In each partition, ok = stored + dead-lettered + dropped; `lost` are the predicted losses."""
    ok: Counter[int] = Counter()
    good: Counter[int] = Counter()
    for key, entry in sent.entries.items():
        if entry.status is Status.OK:
            ok[entry.partition] += 1
            good[entry.partition] += judgement.verdicts.get(key) in GOOD or key in lost
    return [
        Wrong(
            Rule.CONSERVATION,
            f"partition {partition}: {count} events are in the topic, {good[partition]} are accounted for",
        )
        for partition, count in sorted(ok.items())
        if count != good[partition]
    ]


def durable(sent: SentEvents, judgement: Judgement, bounds: Mapping[int, int], what: str) -> list[Wrong]:
    """Everything below an acknowledged offset is stored, dead-lettered or dropped."""
    missing = [
        (entry.partition, entry.offset, key)
        for key, entry in sent.entries.items()
        if entry.status is Status.OK
        and entry.offset < bounds.get(entry.partition, 0)
        and judgement.verdicts.get(key) not in GOOD
    ]
    if not missing:
        return []
    text = f"{len(missing)} events below {what} {dict(bounds)} are missing: {sorted(missing)[:SHOWN]}"
    return [Wrong(Rule.DURABLE, text)]


def clean(judgement: Judgement) -> list[Wrong]:
    """No row is invented, changed, incomplete or of two events; no row refers to a missing one."""
    return _violations(Rule.CLEAN, judgement, UNCLEAN)


def no_regress(judgement: Judgement) -> list[Wrong]:
    """The newest value of a row stays the newest, also after a replay."""
    return _violations(Rule.NO_REGRESS, judgement, (Verdict.REGRESSED,))


def no_duplicates(observed: Observed, *, rows_are_unique: bool) -> list[Wrong]:
    """A row is written at one time only, and a record has one dead letter."""
    wrong = []
    if rows_are_unique and observed.older:
        rows = sorted(row.hex() for row in observed.older)
        wrong.append(f"{len(rows)} rows that are written once have older versions: {rows[:SHOWN]}")
    several = [
        f"{partition}:{offset}"
        for (partition, offset), dead_letters in observed.dead_letters.items()
        if len(dead_letters) > 1
    ]
    if several:
        wrong.append(f"{len(several)} records have more than one dead letter: {several[:SHOWN]}")
    return [Wrong(Rule.NO_DUPLICATES, text) for text in wrong]


def found_dead(life: Scrape, rows: int) -> Scrape:
    """The counters of a killed process, plus the rows it stored but could not count before its death."""
    if rows <= life.rows_sent - life.stored:
        return life
    return replace(life, rows_sent=life.stored + rows, attempts=max(life.attempts, life.batches + 1))


def redelivered(lives: Collection[Scrape]) -> int:
    """Number of rows sent again, as far as the processes counted them."""
    return sum(max(0, life.rows_sent - life.stored) for life in lives)


def bounded(lives: Collection[Scrape], batch_size: int, tries: int) -> list[Wrong]:
    """No more rows are sent again than the repeated batches contain, with at most `tries` for each call."""
    again = redelivered(lives)
    replayed = sum(max(0, life.attempts - life.batches) for life in lives)
    retried = sum(life.retries for life in lives)
    most = (replayed * tries + retried) * batch_size
    if again <= most:
        return []
    text = f"{again} rows were sent again; {replayed} repeated attempts and {retried} retries explain at most {most}"
    return [Wrong(Rule.NO_DUPLICATES, text)]


def metrics_are_true(expected: Scrape, actual: Scrape) -> list[Wrong]:
    """The counters at /metrics equal those of the audit."""
    names = ("read", "stored", "dropped", "dead_lettered", "batches")
    return [
        Wrong(Rule.METRICS, f"/metrics has {name}={getattr(actual, name)}, the audit found {getattr(expected, name)}")
        for name in names
        if getattr(expected, name) != getattr(actual, name)
    ]


def caught_up(acknowledged: Mapping[int, int], group: Mapping[int, int] | None) -> list[Wrong]:
    """After an orderly stop the group's offsets equal the checkpoint's, so that tools show no lag."""
    if group is None:
        return []
    wrong = {part: (end, group.get(part)) for part, end in acknowledged.items() if end and group.get(part) != end}
    text = f"the offsets of group and checkpoint differ, by partition (checkpoint, group): {wrong}"
    return [Wrong(Rule.CAUGHT_UP, text)] if wrong else []


def not_ahead(acknowledged: Mapping[int, int], group: Mapping[int, int] | None) -> list[Wrong]:
    """The group is never ahead of the checkpoint."""
    ahead = {part: offset for part, offset in (group or {}).items() if offset > acknowledged.get(part, 0)}
    text = f"the group {ahead} is ahead of the checkpoint {dict(acknowledged)}"
    return [Wrong(Rule.DURABLE, text)] if ahead else []


def as_predicted(judgement: Judgement, predicted: Collection[Key], count: int) -> list[Wrong]:
    """The lost events are the predicted ones: by number, and by event if the events are known."""
    lost = {key for key, verdict in judgement.verdicts.items() if verdict is Verdict.LOST}
    if len(lost) != count:
        examples = judgement.wrong.get(Verdict.LOST, [])[:SHOWN]
        return [Wrong(Rule.PREDICTED, f"{len(lost)} events are lost, {count} were predicted: {'; '.join(examples)}")]
    outside = sorted(lost - set(predicted)) if predicted else []
    if outside:
        text = f"{len(outside)} lost events were not predicted: {outside[:SHOWN]}"
        return [Wrong(Rule.PREDICTED, text)]
    return []


def _violations(rule: Rule, judgement: Judgement, verdicts: Collection[Verdict]) -> list[Wrong]:
    return [
        Wrong(rule, f"{len(judgement.wrong[verdict])} {verdict}: {'; '.join(judgement.wrong[verdict][:SHOWN])}")
        for verdict in verdicts
        if judgement.wrong.get(verdict)
    ]
