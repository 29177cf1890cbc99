"""The loop over the attempts at a micro-batch: what the host and the committers are called with."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from ingest.api import Batch, Committer, IngestError, SinkResult, StoreUnavailableError, TaskSpec
from ingest.dead_letters.buffer import MAX_DEAD_LETTER_BYTES
from ingest.pipeline.loop import LoopHost, MicroBatch, StoppedError, run_until_durable
from ingest.receipt import Counts, Receipt, TaskStatus

BATCH = MicroBatch("1000", 1_000, "1")
ATTEMPTS = [Batch("1000", 1_000, f"1-{number}") for number in range(4)]


class RefusedError(IngestError):
    """Stops the pipeline."""


class Call(NamedTuple):
    """A call of a committer; `content` is what its second argument has."""

    name: str
    batch: Batch | None
    content: tuple[object, ...] = ()


class RecordingCommitter(Committer):
    """Records its calls with their arguments; those of one method fail, the first time or always."""

    def __init__(self, message: bytes = b"", fails_in: str = "", *, failure: IngestError | None = None) -> None:
        self.calls: list[Call] = []
        self._message = message
        self._fails_in = fails_in
        self._failure = failure

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.calls]

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:
        self._call("prepare", batch, *requests)
        return self._message + batch.attempt.encode()

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        self._call("commit", batch, *results)

    def abort(self, batch: Batch) -> None:
        self._call("abort", batch)

    def probe(self, payload: bytes, timeout_s: float) -> None:
        self._call("probe", None, payload, timeout_s)

    def _call(self, name: str, batch: Batch | None, *content: object) -> None:
        self.calls.append(Call(name, batch, content))
        if name == self._fails_in:
            if self._failure is None:
                raise RefusedError(name)
            failure, self._failure, self._fails_in = self._failure, None, ""
            raise failure


Attempt = TaskStatus | Sequence[Receipt] | Exception


class Host(LoopHost):
    """
    Runs no tasks: what they report is given for each attempt; a status stands for one task without results.

    Attributes:
        specs: of the attempts.
        on_one_slot: whether an attempt was to leave the other task slots free.
        waits: the arguments of `blocked`.
    """

    def __init__(self, *attempts: Attempt) -> None:
        self._attempts = list(attempts)
        self.specs: list[TaskSpec] = []
        self.on_one_slot: list[bool] = []
        self.waits: list[tuple[str, str, int]] = []

    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:
        self.specs.append(spec)
        self.on_one_slot.append(on_one_slot)
        found = self._attempts.pop(0)
        if isinstance(found, Exception):
            raise found
        if isinstance(found, TaskStatus):
            return [Receipt(found, results={name: SinkResult() for name in spec.prepared})]
        return found

    def until_possible(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except StoreUnavailableError:
            return action()

    def blocked(self, code: str, message: str, attempts: int) -> None:
        self.waits.append((code, message, attempts))


def run(host: Host, batch: MicroBatch = BATCH, **committers: RecordingCommitter) -> tuple[Counts, list[bytes]]:
    return run_until_durable(batch, committers, host)


def test_blocked_attempt_is_aborted_and_the_next_one_committed():
    first, second = RecordingCommitter(), RecordingCommitter()
    run(Host(TaskStatus.BLOCKED, TaskStatus.DURABLE), first=first, second=second)
    assert first.calls == second.calls
    assert first.calls == [
        Call("prepare", ATTEMPTS[0]),
        Call("abort", ATTEMPTS[0]),
        Call("prepare", ATTEMPTS[1]),
        Call("commit", ATTEMPTS[1], (b"",)),
    ]


def test_only_the_attempt_after_a_blocked_one_runs_on_one_slot():
    host = Host(*map(TaskStatus, ("blocked", "blocked", "run_again", "durable")))
    run(host)
    assert host.on_one_slot == [False, True, True, False]


def test_call_timeout_doubles_with_each_blocked_attempt_up_to_its_maximum():
    host = Host(*[TaskStatus.BLOCKED] * 6, TaskStatus.RUN_AGAIN, TaskStatus.DURABLE)
    run(host)
    assert [spec.call_timeout_s for spec in host.specs] == [10.0, 20.0, 40.0, 80.0, 160.0, 180.0, 180.0, 180.0]


def test_call_timeout_of_very_many_attempts_is_finite():
    host = Host(*[TaskStatus.BLOCKED] * 1_100, TaskStatus.DURABLE)
    run(host)
    assert host.specs[-1].call_timeout_s == 180.0


def test_host_waits_with_the_reason_and_the_number_of_blocked_attempts():
    reason = {"code": "store_unavailable", "message": "no answer"}
    blocked = [Receipt(TaskStatus.DURABLE), Receipt(TaskStatus.BLOCKED, **reason)]
    host = Host(blocked, TaskStatus.RUN_AGAIN, blocked, TaskStatus.DURABLE)
    run(host)
    assert host.waits == [("store_unavailable", "no answer", 1), ("store_unavailable", "no answer", 2)]


def test_tasks_get_the_micro_batch_and_what_their_committers_prepared():
    place = ("t", 0, 7)
    batch = MicroBatch("1000", 1_000, "1", {place: frozenset({"x"})}, True, 5, (place,))
    host = Host(TaskStatus.RUN_AGAIN, TaskStatus.DURABLE)
    run(host, batch, one=RecordingCommitter(b"a"), other=RecordingCommitter(b"b"))
    assert host.specs == [
        TaskSpec(
            batch=attempt,
            call_timeout_s=10.0,
            prepared={"one": b"a" + attempt.attempt.encode(), "other": b"b" + attempt.attempt.encode()},
            sinks_by_record={place: frozenset({"x"})},
            split_per_record=True,
            max_failures=5,
            splits=(place,),
        )
        for attempt in ATTEMPTS[:2]
    ]


def reported(status: TaskStatus, **results: SinkResult) -> Receipt:
    return Receipt(status, results=results)


def test_requests_of_all_attempts_reach_the_committer_of_their_destination():
    again = TaskStatus.RUN_AGAIN
    host = Host(
        [
            reported(again, one=SinkResult(b"family f", run_again=True), other=SinkResult(b"fine")),
            reported(again, one=SinkResult(b"family g", run_again=True), other=SinkResult(b"x", run_again=True)),
            reported(TaskStatus.DURABLE, one=SinkResult(b"done"), other=SinkResult(b"done")),
        ],
        [reported(again, one=SinkResult(b"family h", run_again=True), other=SinkResult(b"fine"))],
        [reported(TaskStatus.DURABLE, one=SinkResult(b"1"), other=SinkResult(b"2"))],
    )
    one, other = RecordingCommitter(), RecordingCommitter()
    run(host, one=one, other=other)
    assert one.calls == [
        Call("prepare", ATTEMPTS[0]),
        Call("abort", ATTEMPTS[0]),
        Call("prepare", ATTEMPTS[1], (b"family f", b"family g")),
        Call("abort", ATTEMPTS[1]),
        Call("prepare", ATTEMPTS[2], (b"family f", b"family g", b"family h")),
        Call("commit", ATTEMPTS[2], (b"1",)),
    ]
    assert [call.content for call in other.calls if call.name == "prepare"] == [(), (b"x",), (b"x",)]
    assert host.waits == []


def test_requests_of_a_blocked_attempt_are_not_kept():
    """Its tasks run again anyway; only results of an attempt without a blocked task count."""
    blocked = reported(TaskStatus.BLOCKED)
    asking = reported(TaskStatus.RUN_AGAIN, one=SinkResult(b"family f", run_again=True))
    one = RecordingCommitter()
    run(Host([asking, blocked], TaskStatus.DURABLE), one=one)
    assert [call.content for call in one.calls if call.name == "prepare"] == [(), ()]


def test_results_of_all_tasks_are_committed_and_their_dead_letters_returned():
    receipts = [reported(TaskStatus.DURABLE, one=SinkResult(b"1"), other=SinkResult(b"x"))]
    receipts.append(reported(TaskStatus.DURABLE, one=SinkResult(b"2"), other=SinkResult(b"y")))
    for number, receipt in enumerate(receipts, start=1):
        receipt.dead_letters = [b"d%d" % number]
        receipt.counts.read = number
    one, other = RecordingCommitter(), RecordingCommitter()
    counts, dead_letters = run(Host(receipts), one=one, other=other)
    assert (one.calls[-1].content, other.calls[-1].content) == ((b"1", b"2"), (b"x", b"y"))
    assert (counts.read, dead_letters) == (3, [b"d1", b"d2"])


def test_destination_that_blocked_is_probed_after_the_wait_with_a_growing_timeout():
    blocked = Receipt(TaskStatus.BLOCKED, probe=("second", b"row"))
    first, second = RecordingCommitter(), RecordingCommitter(fails_in="probe", failure=StoreUnavailableError("away"))
    run(Host([blocked], TaskStatus.DURABLE), first=first, second=second)
    assert first.names == ["prepare", "abort", "prepare", "commit"]
    assert second.names == ["prepare", "abort", "probe", "probe", "prepare", "commit"]
    assert [call.content for call in second.calls if call.name == "probe"] == [(b"row", 10.0), (b"row", 20.0)]


def test_task_blocked_by_an_overloaded_store_counts_as_a_busy_answer():
    """Also if its sink counts none, or the call ended after its time-out."""

    def blocked(code: str, busy: int) -> list[Receipt]:
        receipt = Receipt(TaskStatus.BLOCKED, code=code)
        receipt.counts.busy = busy
        return [receipt]

    attempts: list[int] = []
    host = Host(blocked("store_busy", 0), blocked("store_busy", 3), blocked("store_unavailable", 0), TaskStatus.DURABLE)
    run_until_durable(BATCH, {}, host, on_attempt=lambda counts: attempts.append(counts.busy))
    assert attempts == [1, 3, 0, 0]


def test_attempt_that_stops_is_aborted():
    first, second = RecordingCommitter(), RecordingCommitter()
    stopped = Receipt(TaskStatus.STOP, code="no_key", message="there is no key", exit_code=3)
    with pytest.raises(StoppedError, match="there is no key") as caught:
        run(Host([Receipt(), stopped]), first=first, second=second)
    assert (caught.value.code, caught.value.exit_code) == ("no_key", 3)
    assert first.calls == second.calls == [Call("prepare", ATTEMPTS[0]), Call("abort", ATTEMPTS[0])]


def test_attempt_whose_tasks_cannot_run_is_aborted():
    committer = RecordingCommitter()
    with pytest.raises(RefusedError):
        run(Host(RefusedError("no executor")), one=committer)
    assert committer.names == ["prepare", "abort"]


def test_attempt_that_the_check_refuses_is_aborted():
    def check(counts: Counts, dead_letters: Sequence[bytes]) -> None:
        checked.append((counts.read, list(dead_letters)))
        raise RefusedError("too many failures")

    checked: list[tuple[int, list[bytes]]] = []
    receipt = Receipt(results={"one": SinkResult()}, dead_letters=[b"d"])
    receipt.counts.read = 9
    committer = RecordingCommitter()
    with pytest.raises(RefusedError):
        run_until_durable(BATCH, {"one": committer}, Host([receipt]), check=check)
    assert (committer.names, checked) == (["prepare", "abort"], [(9, [b"d"])])


def test_failed_commit_leaves_the_destinations_as_they_are():
    """What is committed is valid, and the batch runs again; an abort could remove what the failed commit wrote."""
    first, second, third = RecordingCommitter(), RecordingCommitter(fails_in="commit"), RecordingCommitter()
    with pytest.raises(RefusedError):
        run(Host(TaskStatus.DURABLE), first=first, second=second, third=third)
    assert first.names == second.names == ["prepare", "commit"]
    assert third.names == ["prepare"]


def test_failed_prepare_aborts_nothing():
    first, second = RecordingCommitter(), RecordingCommitter(fails_in="prepare")
    with pytest.raises(RefusedError):
        run(Host(), first=first, second=second)
    assert first.names == second.names == ["prepare"]


@pytest.mark.parametrize("method", ["prepare", "commit"])
def test_call_that_a_committer_can_repeat_is_repeated(method: str):
    committer = RecordingCommitter(fails_in=method, failure=StoreUnavailableError("away"))
    run(Host(TaskStatus.DURABLE), one=committer)
    assert sorted(committer.names) == sorted(["prepare", "commit", method])


def letters(size: int, by_place: int = 0) -> list[Receipt]:
    """The receipts of one task, with the bytes of its dead letters."""
    return [Receipt(counts=Counts(dead_letter_bytes=size, by_place=by_place), dead_letters=[b"%d" % by_place])]


class TestBytesOfDeadLetters:
    """The bytes that the dead letters of a task may have."""

    def test_none_of_a_host_is_divided_among_its_tasks(self):
        host = Host(letters(MAX_DEAD_LETTER_BYTES))
        run(host)
        assert [spec.max_dead_letter_bytes for spec in host.specs] == [None]

    def test_tasks_run_again_if_the_share_of_one_was_too_small_for_dead_letters_that_all_fit(self):
        committer = RecordingCommitter()
        attempts = letters(MAX_DEAD_LETTER_BYTES, by_place=3), letters(MAX_DEAD_LETTER_BYTES)
        for (receipt,) in attempts:
            receipt.results["only"] = SinkResult()
        host = Host(*attempts)
        counts, found = run(host, only=committer)
        assert [spec.max_dead_letter_bytes for spec in host.specs] == [None, MAX_DEAD_LETTER_BYTES]
        assert (counts.by_place, found) == (0, [b"0"])
        assert committer.names == ["prepare", "abort", "prepare", "commit"]

    def test_they_do_not_if_the_dead_letters_do_not_fit(self):
        host = Host(letters(MAX_DEAD_LETTER_BYTES + 1, by_place=3))
        counts, found = run(host)
        assert (counts.by_place, found, len(host.specs)) == (3, [b"3"], 1)

    def test_shares_are_final_if_the_tasks_find_more_when_they_run_again(self):
        """As after a file of a decorator was replaced."""
        host = Host(letters(1, by_place=1), letters(MAX_DEAD_LETTER_BYTES + 1), letters(1, by_place=2))
        counts, _ = run(host)
        assert [spec.max_dead_letter_bytes for spec in host.specs] == [None, MAX_DEAD_LETTER_BYTES, None]
        assert counts.by_place == 2

    def test_a_later_attempt_has_the_share_of_the_one_before(self):
        host = Host(letters(1, by_place=1), TaskStatus.BLOCKED, letters(1))
        run(host)
        shares = [None, MAX_DEAD_LETTER_BYTES, MAX_DEAD_LETTER_BYTES]
        assert [spec.max_dead_letter_bytes for spec in host.specs] == shares
