"""Jobs of a service that writes, killed at each of their steps with the service, and run again; ledgers are exact."""

from collections.abc import Callable, Mapping
from contextlib import closing

import pytest

from ingest.formats.times import moment
from sinks.dumps.reader import DumpReader
from tests.support import jobs_run as words
from tests.support.jobs_run import ARCHIVED, COUNTED, JobsRun
from tests.support.ledger.fixture import LedgerRuns
from tests.support.protocols import thrift_only
from tests.support.stored_blobs import COMMANDS, NEW, STEPS, BlobsToWorkOn

ALWAYS = ("--from", "2020-01-01", "--to", "2100-01-01")


def compaction(jobs: JobsRun) -> None:
    """Reads merge the rows to the same values, before, between and after."""
    command = (words.COMPACT, jobs.counts, "--older-than", "0s", "--window", "1h")
    for point in ("merged_rows_written", "covered_rows_deleted"):
        jobs.killed((point, 1), *command)
    jobs.start()
    done = jobs.done(*command)
    assert (done["logical_rows"], done["unmerged"]) == (3, 0)


def rollback_and_replay(jobs: JobsRun) -> None:
    """What the rollback takes back, the replay restores; the pipeline waits for a replay that was killed."""
    jobs.start()
    checkpoint = jobs.service.checkpoint(COUNTED)
    until = moment(checkpoint.time_ms(checkpoint.commits()[-1]))
    jobs.stop()
    command = (words.ROLLBACK, jobs.counts, "--from", "2020-01-01", "--to", until, "--yes")
    jobs.killed(("rollback_deleted", 1), *command)
    jobs.start()
    done = jobs.done(*command)
    assert done["straddling"] == 0
    jobs.stop()
    command = (words.REPLAY, "--pipeline", COUNTED, *ALWAYS)
    others = [ARCHIVED]
    for point in ("replay_begun", "replay_written", "replay_moved", "replay_stored", "replay_noted"):
        jobs.killed((point, 1), *command, waits_for=others)
    jobs.start(waits_for=others)
    jobs.done(*command)


def dump_and_expiry(jobs: JobsRun) -> None:
    """A dump is seen once it is complete; one that expires is not seen from its first step on."""
    root = str(jobs.folder / "dumps")
    command = (words.DUMP, "--root", root)
    new = (*command, "--tables", f"{jobs.orders},{jobs.counts}")
    jobs.killed(("dump_recorded", 1), *new, "--id", "one")
    jobs.killed(("dump_renamed", 1), *command, "--resume", "one")
    jobs.start()
    first = jobs.done(*command, "--resume", "one")
    assert first["rows"] >= 1_500
    jobs.stop()
    jobs.killed(("dump_hidden", 1), *new, "--keep", "1s")
    jobs.start()
    last = jobs.done(*new, "--keep", "1s")
    assert last["rows"] >= first["rows"]
    assert [each.name for each in DumpReader(root).dumps()] == [last["dump"]]


def bootstrap(jobs: JobsRun) -> None:
    """The copy has each row and change, times included."""
    root = str(jobs.folder / "dumps")
    jobs.start()
    jobs.done(words.DUMP, "--root", root, "--tables", jobs.orders)
    jobs.stop()
    feed = f"{jobs.service.file}:{jobs.orders}"
    command = (words.BOOTSTRAP, "--dump", root, "--feed", feed, "--to", f"store:{jobs.orders}-copy")
    for step in (("bootstrap_written", 1), ("bootstrap_written", 2), ("bootstrap_saved", 1), ("bootstrap_written", 2)):
        jobs.killed(step, *command)
    jobs.start()
    done = jobs.done(*command)
    assert done["verified"]["equal"], done
    assert done["changes"] > 0


def archive(jobs: JobsRun) -> None:
    """Readers see the rows of one batch; the new label once `_CURRENT` has moved."""
    jobs.start()
    jobs.stop()
    jobs.write(label="new")
    (value,) = jobs.partitions()
    for kind in (words.RERUN, words.JOIN):
        for point in ("archive_written", "archive_completed", "archive_superseded", "archive_switched"):
            jobs.killed((point, 1), kind, "events", "--dt", value)
        jobs.start()
        done = jobs.done(kind, "events", "--dt", value)
        assert jobs.partitions()[value].current() == done["version"]
        assert {row["label"] for row in jobs.archived()} == {"new"}
        jobs.stop()
    jobs.end_rewrites()
    command = (words.CLEANUP, "events", "--older-than", "0s", "--force", "--incomplete")
    jobs.killed(("archive_hidden", 1), *command)
    jobs.start()
    jobs.done(*command)
    assert jobs.partitions()[value].version_ids() == [done["version"]]


def blobs(jobs: JobsRun) -> None:
    """No blob is damaged, and the referenced ones stay; in HBase commands put and pin them, and are killed."""
    path = jobs.folder / "new.bin"
    path.write_bytes(NEW)
    with jobs.store() as store:
        found = BlobsToWorkOn.stored(store, jobs.documents)
    own = () if jobs.run.hbase is None else ("put", "pin", "unpin")
    before: tuple[str, ...] = ()
    for command, points in STEPS.items():
        words = (COMMANDS[command], jobs.documents, *found.arguments(command, str(path)))
        if command in own:
            jobs.start()
            if before:
                jobs.done(*before)
            for point in points:
                jobs.command_killed((point, 1), *words)
            jobs.done(*words)
            jobs.stop()
            before = ()
        else:
            for point in points:
                # a put, which the same service has done before, pins too
                hit = 2 if before and command == "pin" else 1
                jobs.killed((point, hit), *words, first=before)
                before = ()
            before = words
    jobs.start()
    if before:
        jobs.done(*before)
    jobs.stop()
    with jobs.store() as store:
        found.check(store, *STEPS)
    jobs.start()


def dead_letters(jobs: JobsRun) -> None:
    """Each is counted and archived once."""
    jobs.write(refuses=True)
    jobs.start()
    jobs.stop()
    jobs.write()
    for name, points in {
        COUNTED: ("replay_begun", "replay_written", "replay_moved", "replay_stored", "replay_noted"),
        ARCHIVED: ("replay_stored", "replay_noted"),
    }.items():
        command = (words.REPLAY_LETTERS, "--pipeline", name)
        others = {COUNTED, ARCHIVED} - {name}
        for point in points:
            jobs.killed((point, 1), *command, waits_for=others)
        jobs.start(waits_for=others)
        done = jobs.done(*command)
        assert not done["failed_again"]
        jobs.stop()
    jobs.start()


def offsets_reset(jobs: JobsRun) -> None:
    """The pipeline starts at its offsets, in the old checkpoint or in the new one, and loses or repeats no event."""
    command = (words.RESET, "--pipeline", jobs.run.pipeline, "--to", "remaining")
    jobs.killed(("before_exchange", 1), *command)
    # the new checkpoint has acknowledged nothing, and the group is ahead of it
    jobs.killed(("after_exchange", 1), *command, is_checked=False)
    jobs.start()
    jobs.done(*command)


def range_replay(jobs: JobsRun) -> None:
    """The replay of a plain table writes the same cells again."""
    command = (words.REPLAY, "--pipeline", jobs.run.pipeline, *ALWAYS)
    for point in ("replay_stored", "replay_noted"):
        jobs.killed((point, 1), *command)
    jobs.start()
    assert jobs.done(*command)["stored"] > 0


SCENARIOS: Mapping[str, Callable[[JobsRun], None]] = {
    each.__name__: each
    for each in (
        compaction,
        rollback_and_replay,
        dump_and_expiry,
        bootstrap,
        blobs,
        archive,
        dead_letters,
        offsets_reset,
        range_replay,
    )
}

BESIDE_THE_STORE = ["archive", "offsets_reset"]


def run(ledger_run: LedgerRuns, scenario: str, store: str) -> None:
    with closing(JobsRun(ledger_run(f"{scenario.replace('_', ' ')} killed", store=store, batch_size=500))) as jobs:
        jobs.produce()
        SCENARIOS[scenario](jobs)
        jobs.finish(metrics=scenario != "offsets_reset")


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_beside_a_rocksdb_store(ledger_run: LedgerRuns, scenario: str) -> None:
    run(ledger_run, scenario, "rocksdb")


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.usefixtures("protocol")
@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each not in BESIDE_THE_STORE])
def test_killed_beside_hbase(ledger_run: LedgerRuns, scenario: str) -> None:
    run(ledger_run, scenario, "hbase")


@pytest.mark.slow
@pytest.mark.seeds(1)
@thrift_only("the job does not use the store")
@pytest.mark.usefixtures("protocol")
@pytest.mark.parametrize("scenario", BESIDE_THE_STORE)
def test_killed_beside_a_store_that_it_does_not_use(ledger_run: LedgerRuns, scenario: str) -> None:
    run(ledger_run, scenario, "hbase")
