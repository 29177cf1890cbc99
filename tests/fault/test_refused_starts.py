"""
F20, F25, F26, F28: a start that would use wrong data is refused with an exit code and a remedy, and reads nothing.
Allowed changes are logged. After the repair nothing is missing.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.killed_at import killed_at
from tests.support.ledger.events import Outcome
from tests.support.ledger.observed import rocksdb_rows
from tests.support.ledger.run import LedgerRun, merged
from tests.support.service import environment

Damage = Callable[[Path], None]
NOBODY = 65534
# without these capabilities file permissions apply to root as well
WITHOUT_CAPABILITIES = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner") if os.geteuid() == 0 else ()


def ended(run: LedgerRun, *arguments: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run a second `attr2hbase run` on the same file to its end, without root's capabilities."""
    command: Sequence[str] = [
        *WITHOUT_CAPABILITIES,
        sys.executable,
        "-m",
        "ingest",
        "run",
        str(run.service.file),
        *arguments,
    ]
    return subprocess.run(
        command,
        cwd=run.service.folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def checkpoint_of(run: LedgerRun) -> Path:
    return run.service.checkpoint(run.pipeline).folder


def content(folder: Path) -> Mapping[str, bytes]:
    """All files except the lock."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@contextmanager
def repaired(run: LedgerRun) -> Iterator[Path]:
    """The checkpoint, restored after the block; the store must not change in the block."""
    folder = checkpoint_of(run)
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    stored = content(run.store_folder)
    try:
        yield folder
        assert content(run.store_folder) == stored
    finally:
        shutil.rmtree(folder)
        copy.rename(folder)


def refused(run: LedgerRun, code: int, *messages: str, arguments: Sequence[str] = ()) -> None:
    """A start ends with an exit code and these messages, and does not change the checkpoint."""
    before = content(checkpoint_of(run))
    result = ended(run, *arguments)
    assert result.returncode == code, result.stderr
    for message in messages:
        assert message in result.stderr
    assert content(checkpoint_of(run)) == before


def newest(folder: Path, name: str) -> Path:
    return max((path for path in (folder / name).iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))


def flip(path: Path) -> None:
    """Flip one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES: Mapping[str, tuple[str, Damage]] = {
    "zero-length": ("offsets", lambda path: path.write_bytes(b"")),
    "truncated": ("commits", lambda path: path.write_bytes(path.read_bytes()[:4])),
    "bit flipped": ("offsets", flip),
    "commit ahead of offsets": ("offsets", Path.unlink),
    "time zero-length": ("times", lambda path: path.write_bytes(b"")),
}


def damaged(run: LedgerRun, what: str) -> None:
    """F26: a damaged file is refused; the message names it and the last good batch."""
    kind, damage = DAMAGES[what]
    with repaired(run) as folder:
        path = newest(folder, kind)
        good = int(path.name) - 1
        damage(path)
        refused(run, 5, str(path.relative_to(run.service.folder)), f"the last good batch is {good}")
    run.proven(f"{kind}/{path.name} {what}: exit 5")


def read_only(run: LedgerRun) -> None:
    """F25: a read-only folder."""
    with repaired(run) as folder:
        (folder / "commits").chmod(0o500)
        refused(run, 3, "commits", "Permission denied")
    run.proven("read-only commits: exit 3")


def other_owner(run: LedgerRun) -> None:
    """F25: a folder of another user."""
    with repaired(run) as folder:
        folder.chmod(0)
        if WITHOUT_CAPABILITIES:
            os.chown(folder, NOBODY, NOBODY)
        result = ended(run)
        assert result.returncode == 3, result.stderr
        assert "Permission denied" in result.stderr
        folder.chmod(0o700)
    run.proven("checkpoint without rights: exit 3")


def test_refused_starts_of_one_service(ledger_run) -> None:
    run = ledger_run("F20 F25 F26 refused starts", batch_size=500)
    run.produce(2_000)
    run.start()
    run.wait_acknowledged()
    refused_by = ended(run)
    assert refused_by.returncode == 4, refused_by.stderr
    assert f"is in use by pid {run.service.pid}" in refused_by.stderr
    run.proven("second instance: exit 4")
    run.produce(1_000)
    run.wait_acknowledged()  # the first instance still runs
    assert run.service.stop() == 0
    damaged(run, "commit ahead of offsets")
    read_only(run)
    other_owner(run)
    (checkpoint_of(run) / "offsets" / ".99.6f1c.tmp").write_bytes(b"incomplete")
    run.proven(".tmp left: started")
    run.produce(500)
    run.start()
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f26_damaged_checkpoint_of_a_killed_service(ledger_run) -> None:
    run = ledger_run("F26 damaged checkpoint", batch_size=500)
    run.produce(3_000)
    killed_at(run, "before_commit", hit=3)
    for what in DAMAGES.keys() - {"commit ahead of offsets"}:  # after this kill it would be a batch that is not planned
        damaged(run, what)
    run.start()
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f25_deleted_checkpoint_resumes_at_the_group_with_start_from(ledger_run) -> None:
    run = ledger_run("F25 checkpoint deleted", batch_size=500)
    run.produce(2_000)
    run.start()
    run.wait_acknowledged()
    assert run.service.stop() == 0
    run.service.checkpoint(run.pipeline).remove()
    refused(run, 3, f'group "{run.group}" has acknowledged offsets, but there is no checkpoint', "--start-from group")
    run.proven("checkpoint removed: exit 3")
    run.produce(1_000)
    run.start("--start-from", "group")
    run.finish(metrics=False)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f28_changes_that_keep_the_offsets_valid_are_allowed_and_logged(ledger_run) -> None:
    run = ledger_run("F28 allowed changes", batch_size=500)
    run.produce(3_000)
    killed_at(run, "before_commit", hit=2)
    plain = run.content()
    pipeline = plain["pipelines"][run.pipeline]
    decorators = [*pipeline["decorators"], {"value": {"attribute": "seen", "value": "again"}}]
    source = {"kafka": {"max_events_per_batch": 700}}
    run.service.write(merged(plain, {"pipelines": {run.pipeline: {"decorators": decorators, "source": source}}}))
    run.produce(1_000)
    run.start()
    assert changed_batches(run) == 1
    run.proven("decorator and max_events_per_batch changed: the batch ran again with both")
    run.finish()

    # other tables and sinks, which the ledger does not cover: both must have all events of the repeated batch
    first = run.producer.sent
    run.produce(400)
    run.service.write(plain)
    killed_at(run, "before_commit")
    table = {"store": "store", "families": {"l": {}, "d": {}}}
    sinks = [{"attr2hbase": {"table": name}} for name in ("second", "third")]
    run.service.write(
        merged(plain, {"tables": {"second": table, "third": table}, "pipelines": {run.pipeline: {"sinks": sinks}}})
    )
    run.start()
    assert changed_batches(run) == 2
    run.wait_acknowledged()
    assert run.service.stop() == 0
    numbers = range(first, run.producer.sent)
    stored = {run.events.row(0, number) for number in numbers if run.events.outcome(0, number) is Outcome.STORED}
    for name in ("second", "third"):
        rows, _ = rocksdb_rows(run.store_folder, name)
        assert rows.keys() == stored


def changed_batches(run: LedgerRun) -> int:
    """Number of log lines about a batch that runs again with a new configuration."""
    return sum("runs again with the new configuration" in line["message"] for line in run.service.lines())


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f28_changes_that_invalidate_the_offsets_are_refused(ledger_run) -> None:
    run = ledger_run("F28 refused changes", batch_size=500)
    run.produce(2_000)
    killed_at(run, "before_commit", hit=2)
    plain = run.content()
    other = run.kafka.create_topic("other")
    remedy = "restore the configuration, or give the pipeline another name or state_dir"

    def changed(source: Mapping[str, Any]) -> None:
        run.service.write(
            {**plain, "pipelines": {run.pipeline: {**plain["pipelines"][run.pipeline], "source": source}}}
        )

    kafka = plain["pipelines"][run.pipeline]["source"]["kafka"]
    changed({"kafka": {**kafka, "topics": [other]}})
    refused(run, 4, f'made for topics "{run.topic}", the configuration says "{other}"', remedy)
    run.proven("other topic: exit 4")
    (run.service.folder / "lines").write_text("a line\n")
    changed({"files": {"path": "lines"}})
    refused(run, 4, 'made for source "kafka", the configuration says "files"', remedy)
    run.proven("other source kind: exit 4")
    run.service.write(plain)
    identity = checkpoint_of(run) / "identity.json"
    original = identity.read_text()
    identity.write_text(original.replace('"cluster": "', '"cluster": "another-'))
    refused(run, 4, 'made for cluster "another-', remedy)
    identity.write_text(original)
    run.proven("other cluster: exit 4")
    run.start()
    run.finish()
