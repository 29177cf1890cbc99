"""Which offsets a replay of a time range reads, and how fast."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from ingest.api import ConfigError, PositionLostError, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.dead_letters.replay import ReplayStoppedError
from ingest.durable import StatePath
from ingest.formats.times import moment
from ingest.kafka.stored import TopicSettings
from ingest.receipt import Counts
from ingest.service.replay import range_replay
from ingest.service.replay import state as replay_state
from ingest.service.replay.plan import BatchKind, ReplayBatch, TopicState
from ingest.service.replay.range_plan import RangePlan
from ingest.service.replay.range_replay import RangeReplay
from ingest.service.replay.selection import are_there, cut_at, durable_ends, offsets_between, offsets_there
from ingest.service.replay.state import ReplayState, ReplayTotals
from ingest.service.state_folders import batch_log_folder, replay_folder
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch, OffsetRanges
from tests.support.place import own_process, replay_options
from tests.support.sources import pipeline
from tests.support.waits import Waits

P0, P1, P2 = ("t", 0), ("t", 1), ("t", 2)


class Admin:
    """A topic of three partitions; partition 2 has no record of the range's end or later, 1 none of its start."""

    def ends(self, topics: object) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {P0: 100, P1: 50, P2: 30}

    def offsets_since(self, topics: object, time_ms: int) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {1_000: {P0: 10, P2: 5}, 2_000: {P0: 101}}[time_ms]


def test_range_is_from_the_first_record_not_older_to_the_last_stable_one():
    found = offsets_between(Admin(), ["t"], replay_options(1_000, 2_000))
    assert found == {P0: (10, 100), P2: (5, 30)}


class Kept:
    """A topic of two partitions that has deleted its first records, and all of partition 1."""

    def existing(self, topics: Sequence[str]) -> set[str]:
        return set(topics) & {"t"}

    def topic_ids(self, topics: Sequence[str]) -> dict[str, str]:
        return {"t": "a"} if "t" in topics else {}

    def earliest(self, topics: Sequence[str]) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {P0: 10, P1: 50}

    def ends(self, topics: Sequence[str]) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {P0: 100, P1: 50}

    def offsets_since(self, topics: Sequence[str], time_ms: int) -> dict[tuple[str, int], int]:
        assert (topics, time_ms) == (["t"], 0)
        return {P0: 10}


def test_records_of_a_topic_are_there_from_the_first_one_that_it_has_not_deleted():
    assert offsets_there(Kept(), ["t"]) == {P0: (10, 100)}


@pytest.mark.parametrize(
    ("ranges", "ids", "expected"),
    [
        ({P0: (10, 100)}, {"t": "a"}, True),
        ({P0: (10, 100)}, {}, True),
        ({P0: (9, 100)}, {"t": "a"}, False),
        ({P0: (10, 101)}, {"t": "a"}, False),
        ({P0: (10, 100), P1: (49, 50)}, {"t": "a"}, False),
        ({P2: (0, 1)}, {"t": "a"}, False),
        ({P0: (10, 100)}, {"t": "b"}, False),
        ({P0: (10, 100), ("other", 0): (0, 1)}, {}, False),
    ],
)
def test_records_are_there_if_none_is_deleted_and_the_topic_is_the_same(
    ranges: OffsetRanges, ids: dict[str, str], expected: bool
):
    assert are_there(Kept(), ranges, ids) is expected


def test_only_durable_records_are_selected():
    batches = [LoggedBatch(0, 1_000, {P0: (0, 60)}), LoggedBatch(1, 1_002, {P0: (60, 70)})]
    ends = durable_ends(batches, {P0: 60, P1: 20}, {"t": "a"}, TopicState({"t": "a"}))
    assert ends == {P0: 70, P1: 20}
    selected = {P0: (10, 100), P1: (0, 15), P2: (5, 30)}
    assert cut_at(selected, ends) == {P0: (10, 70), P1: (0, 15)}


def test_records_of_a_recreated_topic_are_durable_only_if_a_batch_has_read_them():
    now = TopicState({"t": "b"})
    old = LoggedBatch(0, 1_000, {P0: (0, 60), P1: (0, 40)}, {"t": "a"})
    new = LoggedBatch(0, 2_000, {P0: (0, 7)}, {"t": "b"})
    selected = {P0: (0, 100), P1: (0, 50)}
    assert cut_at(selected, durable_ends([old, new], {}, {}, now)) == {P0: (0, 7)}
    assert cut_at(selected, durable_ends([old], {}, {}, now)) == {}
    assert cut_at(selected, durable_ends([], {P0: 60}, {"t": "a"}, now)) == {}


def test_without_a_checkpoint_all_records_are_selected():
    assert cut_at({P0: (10, 100)}, {}) == {P0: (10, 100)}


class Runner:
    """Runs batches of ten records; the second one has to wait."""

    def __init__(self) -> None:
        self.delays = iter((0.0, 1.5))
        self.ran: list[int] = []
        self.finished: list[int] = []

    def delay_s(self) -> float:
        return next(self.delays)

    def stop(self) -> None:
        """No batch runs in another thread."""

    def finish(self, batch: ReplayBatch) -> None:
        assert batch.number == self.ran[-1]
        self.finished.append(batch.number)

    def run(self, batch: ReplayBatch) -> Counts:
        self.ran.append(batch.number)
        return Counts(records=10)

    def until_possible(self, action: Callable[[], None]) -> None:
        """Retry twice."""
        for _ in range(2):
            with suppress(StoreUnavailableError):
                return action()
        return action()


class Setting:
    """A pipeline and a replay of a range of its records, whose micro-batches a `Runner` runs."""

    def __init__(
        self, folder: Path, sink: str = "table: t", stores: str = "stores: {s: {memory: {}}}", fingerprint: str = ""
    ) -> None:
        text = pipeline("kafka: {brokers: 'localhost:1', topics: [t]}")
        (folder / "p.yaml").write_text(text.replace("table: t", sink).replace("stores: {s: {memory: {}}}", stores))
        configuration = load(folder / "p.yaml", env={}, lookup=Catalog())
        self.configuration = replace(configuration, local_dir=folder / "state")
        self.pipeline = self.configuration.pipelines["p"]
        self.place = own_process(self.configuration, Catalog())
        self.options = replay_options(1_000, 2_000)
        self.log = BatchLog(batch_log_folder(self.configuration, "p"))
        self.state = ReplayState(
            replay_folder(self.configuration, "p"), self.options, fingerprint or self.pipeline.fingerprint
        )
        self.replay = RangeReplay(self.place, self.pipeline, self.options)

    def interrupted(self, **topic_ids: str) -> None:
        """Let a replay have ended before its first micro-batch."""
        self.state.start(BATCHES, topic_ids, ReplayTotals())


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> "Runner":
    made = Runner()
    monkeypatch.setattr(range_replay, "ReplayRunner", lambda *_arguments, **_options: made)
    return made


BATCHES = [ReplayBatch(BatchKind.WHOLE, number, 1_000 + number, {P0: (number, number + 10)}) for number in range(2)]


def test_each_micro_batch_waits_for_the_rate_and_for_an_overloaded_store(setting: Setting, runner: Runner):
    setting.interrupted()
    waits = setting.place.cancellation = Waits()  # type: ignore[assignment]
    *_, last = setting.replay.steps()
    assert last.result is not None
    assert (waits.seconds, runner.ran, last.result["records"]) == ([0.0, 1.5], [0, 1], 20)
    assert runner.finished == [0, 1]
    assert setting.state.load() is None


@pytest.mark.usefixtures("runner")
def test_progress_is_stored_as_soon_as_the_disk_is_available_again(setting: Setting, monkeypatch: pytest.MonkeyPatch):
    failures = [True, True, False, False]
    stored: list[bytes] = []

    def write_durably(path: StatePath, content: bytes) -> None:
        if failures.pop(0):
            raise StoreUnavailableError("HDFS does not answer")
        stored.append(content)
        path.write_bytes(content)

    setting.interrupted()
    monkeypatch.setattr(replay_state, "write_durably", write_durably)
    setting.place.cancellation = Waits()  # type: ignore[assignment]
    *_, last = setting.replay.steps()
    assert (last.done, len(stored), failures) == (2, 2, [])


class Cluster:
    """A topic with 200 records in the range."""

    def __init__(self, _settings: object) -> None:
        """The settings have no cluster."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Nothing is open."""

    def topic_ids(self, topics: object) -> dict[str, str]:
        assert topics == ["t"]
        return {"t": "a"}

    def settings(self, topic: str) -> TopicSettings:
        assert topic == "t"
        return TopicSettings(1_000, -1, -1, "delete")

    def ends(self, topics: object) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {P0: 200}

    def offsets_since(self, topics: object, time_ms: int) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {1_000: {P0: 0}, 2_000: {}}[time_ms]


def test_batch_that_is_acknowledged_while_the_replay_is_planned_is_a_logged_one(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
):
    log = setting.log
    log.append(LoggedBatch(0, 1_000, {P0: (0, 100)}))

    def acknowledged(_checkpoint: object) -> dict[tuple[str, int], int]:
        log.append(LoggedBatch(1, 1_002, {P0: (100, 200)}))
        return {P0: 200}

    monkeypatch.setattr(range_replay, "acknowledged_offsets", acknowledged)
    monkeypatch.setattr(range_replay, "KafkaAdmin", Cluster)
    monkeypatch.setattr(range_replay, "required_topics_of", lambda _settings, _admin: ["t"])
    plan = setting.replay.plan()
    assert [(batch.kind, batch.number) for batch in plan.batches] == [(BatchKind.WHOLE, 0), (BatchKind.WHOLE, 1)]
    assert (plan.topic_ids, plan.totals.not_durable) == ({"t": "a"}, 0)


def test_records_that_are_not_durable_are_counted(setting: Setting, monkeypatch: pytest.MonkeyPatch):
    setting.log.append(LoggedBatch(0, 1_000, {P0: (0, 100)}))
    monkeypatch.setattr(range_replay, "acknowledged_offsets", lambda _checkpoint: {P0: 100})
    monkeypatch.setattr(range_replay, "KafkaAdmin", Cluster)
    monkeypatch.setattr(range_replay, "required_topics_of", lambda _settings, _admin: ["t"])
    plan = setting.replay.plan()
    assert (sum(batch.offsets for batch in plan.batches), plan.totals.not_durable) == (100, 100)


def test_topic_that_is_recreated_ends_the_replay_before_the_next_batch(
    setting: Setting, runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    class Recreated(Cluster):
        ids = iter("aab")  # as the plan is read, and before each batch

        def topic_ids(self, topics: object) -> dict[str, str]:
            assert topics == ["t"]
            return {"t": next(self.ids)}

    setting.interrupted(t="a")
    monkeypatch.setattr(range_replay, "KafkaAdmin", Recreated)
    with pytest.raises(PositionLostError, match='recreated since this replay was planned: topic "t"') as caught:
        list(setting.replay.steps())
    assert (runner.ran, caught.value.code) == ([0], "topic_recreated")


@pytest.mark.usefixtures("runner")
def test_batch_whose_progress_is_not_durable_does_not_count_as_finished(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
):
    setting.interrupted()

    def away(*_arguments: object) -> None:
        raise StoreUnavailableError("HDFS does not answer")

    monkeypatch.setattr(replay_state, "write_durably", away)
    with pytest.raises(ReplayStoppedError, match="stopped after 0 of 2 micro-batches"):
        list(setting.replay.steps())


@pytest.mark.parametrize("fingerprint", ["another", ""])
def test_result_says_whether_the_pipeline_was_changed_meanwhile(tmp_path: Path, fingerprint: str):
    setting = Setting(tmp_path, fingerprint=fingerprint)
    setting.interrupted()
    setting.state.progress(ReplayTotals(batches=len(BATCHES)))
    *_, last = setting.replay.steps()
    assert last.result is not None
    assert last.result["has_changed"] is (fingerprint != "")


def test_time_in_the_future_is_refused(setting: Setting):
    request = replay_options(1_000, 2_000, at=moment(now_ms() + 3_600_000))
    with pytest.raises(ConfigError, match="later than now"):
        RangeReplay(setting.place, setting.pipeline, request)


@pytest.mark.parametrize("time", ["event", "batch"])
def test_newer_values_with_the_same_event_time_may_be_hidden(tmp_path: Path, time: str):
    setting = Setting(tmp_path, f"table: t, timestamp: {time}")
    for batch in BATCHES:
        setting.log.append(LoggedBatch(batch.number, batch.time_ms, batch.ranges))
    assert setting.replay.may_hide_values(RangePlan(BATCHES[:1], ReplayTotals())) is (time == "event")
    assert not setting.replay.may_hide_values(RangePlan(BATCHES, ReplayTotals()))


ARCHIVED = "table: t}}, {archive: {root: ./archive, table: t"


def test_archive_is_refused_because_it_would_have_the_rows_twice(tmp_path: Path):
    with pytest.raises(ConfigError, match="the rows to the archive a second time") as caught:
        Setting(tmp_path, ARCHIVED)
    assert (caught.value.exit_code, "p.yaml" in caught.value.message) == (2, True)


def test_archive_beside_deferred_updates_is_not_refused_since_only_these_are_replayed(tmp_path: Path):
    Setting(
        tmp_path,
        ARCHIVED,
        "stores: {s: {rocksdb: {path: ./db}}}\ntables: {t: {families: {f: {}}, updates: {processor: sum}}}",
    )
