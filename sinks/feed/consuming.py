"""Copies the changes of a feed to a destination, as one worker of a consumer group."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TypeVar

from ingest import failpoint
from ingest.api import IngestError
from ingest.retry import Retry, doubling, is_transient
from sinks.feed.balance import RENEW_S
from sinks.feed.delivery import Delivery
from sinks.feed.envelope import Envelope, Message
from sinks.feed.errors import ParentUnknownError, ShardLeaseLostError
from sinks.feed.gaps import Gap
from sinks.feed.group import GroupMember
from sinks.feed.outputs import ChangeOutput

IDLE_S = 0.5
"""Between two looks at a feed without new changes."""
FIRST_RETRY_S, MAX_RETRY_S = 1.0, 30.0
_RETRY = Retry(pauses_s=doubling(FIRST_RETRY_S, MAX_RETRY_S))
_MESSAGES = 5_000  # written at a time; a gap may be followed by all rows of a dump

R = TypeVar("R")


@dataclass(slots=True)
class Consumed:
    """
    What a worker has copied.

    Attributes:
        changes: with a checkpoint.
        gaps: by shard.
        lost: number of deliveries without a checkpoint, because the lease of the shard was lost; they are delivered
            again, by this worker or another one.
        shards_elsewhere: number of shards that other workers read at the end.
    """

    changes: int = 0
    gaps: list[tuple[int, Gap]] = field(default_factory=list)
    lost: int = 0
    shards_elsewhere: int = 0


class FeedConsumer:
    """
    Writes each delivery to the destination, and then records its checkpoint.

    Args:
        member: of the group.
        output: where changes are written.
        envelope: makes messages of them.
        wait: waits for some seconds; returns whether the consumer should end.
        on_progress: called after each checkpoint.
        on_retry: called with an error that is retried.
    """

    def __init__(
        self,
        member: GroupMember,
        output: ChangeOutput,
        envelope: Envelope,
        wait: Callable[[float], bool],
        on_progress: Callable[[Consumed], None] = lambda _consumed: None,
        on_retry: Callable[[IngestError], None] = lambda _error: None,
    ) -> None:
        self._member = member
        self._output = output
        self._envelope = envelope
        self._wait = wait
        self._on_progress = on_progress
        self._on_retry = on_retry
        self._delivered = failpoint.point("changes_delivered")
        self._checkpointed = failpoint.point("changes_checkpointed")
        self._is_ending = False
        self._lost: ParentUnknownError | None = None
        self.consumed = Consumed()

    def run(self, *, once: bool = False) -> Consumed:
        """
        Copy changes until the consumer should end, or, with `once`, until all complete micro-batches are copied.

        With `once` these are the ones of the shards that no other live worker reads. A worker that was killed is known
        by its lease after 20 seconds.

        A store or cluster that is unavailable is retried; other errors end the consumer. The leases are released in
        either case. If the lease of a shard is missing, all shards that do not follow it are copied first.

        Raises:
            ParentUnknownError: the lease of a shard is missing.
            IngestError: as `GroupMember.poll` and `ChangeOutput.write`.
        """
        try:
            while not self._wait(0.0):
                delivery = self._polled()
                if self._lost is not None and not (once or self._member.shards or self._member.shards_elsewhere):
                    break
                if delivery is not None:
                    self._copy(delivery)
                elif once:
                    if self._retried(self._member.refresh):
                        continue
                    if not self._member.may_get_shards:
                        break
                    self._wait(IDLE_S)
                else:
                    self._write_heartbeats()
                    self._wait(IDLE_S)
        finally:
            self.consumed.shards_elsewhere = len(self._member.shards_elsewhere)
            with suppress(IngestError):  # the leases end by themselves; the error of the block says more
                self._member.close()
        if self._lost is not None:
            raise self._lost
        return self.consumed

    def _polled(self) -> Delivery | None:
        """The next changes; a missing lease of one shard does not keep the others from being copied."""
        try:
            delivery = self._retried(self._member.poll)
        except ParentUnknownError as error:
            if self._lost is None:
                self._on_retry(error)
            self._lost = error
            return None
        if delivery is None:
            self._lost = None  # the lease is back
        return delivery

    def _copy(self, delivery: Delivery) -> None:
        written = 0

        def write_rest() -> None:
            nonlocal written
            messages = islice(self._messages(delivery), written, None)  # those of a delivery are always the same
            while chunk := list(islice(messages, _MESSAGES)):
                self._retried(lambda chunk=chunk: write(chunk))  # type: ignore[misc]
                written += len(chunk)

        def write(messages: list[Message]) -> None:
            self._member.keep()
            delivery.check()
            self._output.write(messages)

        try:
            self._retried(write_rest)  # the dump of a gap may be unavailable
            self._delivered()
            self._retried(delivery.checkpoint)
        except ShardLeaseLostError as error:
            self.consumed.lost += 1
            self._on_retry(error)
            return
        self._checkpointed()
        self.consumed.changes += len(delivery.records)
        if delivery.gap is not None:
            self.consumed.gaps.append((delivery.shard, delivery.gap))
        self._on_progress(self.consumed)

    def _messages(self, delivery: Delivery) -> Iterator[Message]:
        if delivery.gap is not None:
            yield from self._envelope.of_gap(delivery.feed_id, delivery.shard, delivery.gap)
            for row in delivery.rows():
                yield from self._envelope.of_row(delivery.feed_id, delivery.shard, row)
        yield from chain.from_iterable(map(self._envelope.of, delivery.records))

    def _write_heartbeats(self) -> None:
        """Write the heartbeats of quiet shards."""
        beats = self._member.heartbeats()
        messages = list(chain.from_iterable(self._envelope.of_heartbeat(*beat) for beat in beats))
        if messages:
            self._retried(lambda: self._output.write(messages))

    def _retried(self, call: Callable[[], R]) -> R:
        """The result of a call, repeated while a server is unavailable, unless the consumer should end."""
        return _RETRY.run(call, should_continue=lambda: not self._is_ending, pause=self._wait_keeping_leases)

    def _wait_keeping_leases(self, reason: IngestError, wait_s: float) -> None:
        """Wait for some seconds, unless the consumer should end."""
        self._on_retry(reason)
        while wait_s > 0:
            if self._wait(min(wait_s, RENEW_S)):
                self._is_ending = True
                return
            wait_s -= RENEW_S
            try:
                self._member.keep()
            except IngestError as error:
                if not is_transient(error):
                    raise
