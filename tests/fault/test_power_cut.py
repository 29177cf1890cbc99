"""
F27: a power cut between any two system calls that write attr2hbase's files. Everything reported as durable is there
afterwards; otherwise the earlier state is. Incomplete files are never used.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import ConflictError
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.marks import Marks
from ingest.durable.marker import Marker
from ingest.durable.register import StateRegister
from ingest.service.kafka.topics import TopicIds, TopicRecreatedError
from ingest.service.replay.state import ReplayState
from ingest.spark.streaming.batch_log import DAY_MS, BatchLog, LoggedBatch
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.disk_faults import DiskFaults
from tests.support.place import replay_options
from tests.support.power_cut import RETURNED, State, states
from tests.support.service import START_S, environment_without_spark

TIMES = (1_000, 1_002, 5_000)
WRITERS = {
    "times": """
from ingest.spark.streaming.batch_time import BatchTimes
clock = iter((1_000, 900, 5_000))
times = BatchTimes(folder / "times", lambda: next(clock))
for number in range(3):
    times.of(number)
    returned()
""",
    "identity": """
from ingest.spark.streaming.checkpoint import Checkpoint
checkpoint = Checkpoint(folder / "checkpoints" / "p")
checkpoint.lock()
checkpoint.claim({"source": "kafka", "topics": "ticks"})
returned()
""",
    "dead letters": """
from ingest.api import Record
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
queue = FileDeadLetters(folder, "p")
for bodies in ("ab", "c", ""):
    dead_letters = [
        DeadLetter(
            record=Record("ticks", 0, number, None, body.encode(), 5),
            fan_out=0,
            attributes={},
            pipeline="p",
            component="split",
            code="decorate",
            message="no",
            batch_time_ms=1_000,
            fingerprint="f",
        ).to_json()
        for number, body in enumerate(bodies)
    ]
    queue.publish(dead_letters, 7, 1_000)
    returned()
""",
    "marks": """
from ingest.dead_letters.marks import Marks
from ingest.dead_letters.queue import Mark, ReplayOutcome
marks = Marks(folder / "dead-letters" / "topic.replayed")
for position in ("0:1", "0:2", "0:3"):
    marks.add({position: Mark(ReplayOutcome.REPLAYED, 5)})
    returned()
""",
    "batch log": """
from ingest.spark.streaming.batch_log import DAY_MS, BatchLog, LoggedBatch
log = BatchLog(folder / "batches" / "p")
for number, time_ms in enumerate((1_000, 1_002, DAY_MS + 5)):
    log.append(LoggedBatch(number, time_ms, {("ticks", 0): (number, number + 1)}))
    returned()
""",
    "replay": """
from ingest.service.replay.options import ReplayOptions
from ingest.service.replay.plan import ReplayBatch, BatchKind
from ingest.service.kafka.topics import TopicIds, TopicRecreatedError
from ingest.service.replay.state import ReplayState, ReplayTotals
options = ReplayOptions.model_validate({"from": "1970-01-01T00:00:00.001Z", "to": "1970-01-01T00:00:00.002Z"})
state = ReplayState(folder / "replays" / "p", options, "f")
state.start([ReplayBatch(BatchKind.WHOLE, 0, 1_000, {("ticks", 0): (0, 1)})], {"ticks": "a"}, ReplayTotals())
returned()
state.progress(ReplayTotals(batches=1))
returned()
state.finish()
returned()
""",
    "marker": """
from ingest.durable.marker import Marker
Marker(folder / "done").write(b"all")
returned()
""",
    "marker of a killed writer": """
import os
from ingest.durable.marker import Marker
with (folder / ".done").open("wb") as file:
    file.write(b"all")
    file.flush()
    os.fsync(file.fileno())
(folder / ".done").rename(folder / "done")
Marker(folder / "done").write(b"all")
returned()
""",
    "time of a killed writer": """
from ingest.spark.streaming.batch_time import BatchTimes
killed("times/0", b"1000")
BatchTimes(folder / "times", lambda: 7).of(0)
returned()
""",
    "identity of a killed writer": """
from ingest.spark.streaming.checkpoint import Checkpoint
killed("checkpoints/p/format", b"1")
killed("checkpoints/p/identity.json", b'{"source": "kafka", "topics": "ticks"}')
Checkpoint(folder / "checkpoints" / "p").claim({"source": "kafka", "topics": "ticks"})
returned()
""",
    "configuration of a killed writer": """
from ingest.spark.streaming.checkpoint import Checkpoint
killed("checkpoints/p/configuration", b"new")
Checkpoint(folder / "checkpoints" / "p").note_configuration("new")
returned()
""",
    "topic ids of a killed writer": """
from ingest.service.kafka.topics import TopicIds
killed("checkpoints/p/topics.json", b'{"ticks": "a"}')
TopicIds(folder / "checkpoints" / "p").check({"ticks": "a"})
returned()
""",
    "removal by a killed process": """
from ingest.dead_letters.files import FileDeadLetters
queue = FileDeadLetters(folder, "p")
path = folder / "dead-letters" / "p" / "000000000001000-0000000007.jsonl"
killed(str(path.relative_to(folder)), b"{}")
sync(path.parent)
path.unlink()
queue.prepare()
queue.publish([], 7, 1_000)
returned()
""",
    "folder of a killed process": """
from ingest.durable import write_durably, make_folder
(folder / "state").mkdir()
make_folder(folder / "state")
write_durably(folder / "state" / "file", b"all")
returned()
""",
    "file in an archive by a killed process": """
from sinks.files.local_root import LocalRoot
killed("state/file", b"all")
try:
    LocalRoot(folder).create("state/file", b"other")
except FileExistsError:
    returned()
""",
    "plan of Spark": """
from ingest.spark.streaming.checkpoint import Checkpoint
for name in ("metadata", "commits/0", "offsets/1"):
    file = folder / "p" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    for each in (file, file.with_name(f".{file.name}.crc")):
        each.with_suffix(".tmp").write_bytes(b"all")
        each.with_suffix(".tmp").rename(each)
sync(folder, folder / "p")  # Spark has made the folders long before
Checkpoint(folder / "p").sync_plan(1)
returned()
""",
    "register": """
from ingest.durable.register import StateRegister
register = StateRegister(folder / "register")
for number, text in enumerate(("1", "2", None, "4", "5")):
    assert register.replace(register.read(), text)
    returned()
""",
}
HEAD = """
import os, sys
from pathlib import Path
folder = Path(sys.argv[1])
def returned():
    with (folder / "returned").open("ab", buffering=0) as file:
        file.write(b".")
def sync(*folders):
    for each in folders:
        descriptor = os.open(each, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
def killed(name, content):
    "What a process has left that was killed before it synced the folder of a file."
    from ingest.durable import make_folder
    path = folder / name
    make_folder(path.parent)
    with (path.parent / ".new").open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    (path.parent / ".new").rename(path)
"""


def times_hold(folder: Path, state: State) -> None:
    later = BatchTimes(folder / "times", lambda: 0)
    found = [later.of(number) for number in range(3)]
    assert tuple(found[: state.returned]) == TIMES[: state.returned]
    assert found == sorted(set(found))


def identity_holds(folder: Path, state: State) -> None:
    checkpoint = Checkpoint(folder / "checkpoints" / "p")
    checkpoint.lock()
    try:
        if state.returned:
            with pytest.raises(ConflictError):
                checkpoint.claim({"source": "kafka", "topics": "other"})
        checkpoint.claim({"source": "kafka", "topics": "ticks"})
    finally:
        checkpoint.unlock()


def dead_letters_hold(folder: Path, state: State) -> None:
    found = "".join(str(entry.dead_letter.record.value, "ascii") for entry in FileDeadLetters(folder, "p").entries())
    order = ["", "ab", "c", ""]
    assert found in order[state.returned : state.returned + 2]


def marks_hold(folder: Path, state: State) -> None:
    found = set(Marks(folder / "dead-letters" / "topic.replayed").load())
    assert {f"0:{number}" for number in range(1, state.returned + 1)} <= found


def batch_log_holds(folder: Path, state: State) -> None:
    log = BatchLog(folder / "batches" / "p")
    found = list(log.batches())
    assert len(found) >= state.returned
    assert [batch.number for batch in found] == list(range(len(found)))
    log.append(LoggedBatch(9, 2 * DAY_MS, {}))
    log.append(LoggedBatch(10, 2 * DAY_MS + 2, {}))
    log.close()
    assert [batch.number for batch in log.batches()] == [*range(len(found)), 9, 10]


def replay_holds(folder: Path, state: State) -> None:
    found = ReplayState(folder / "replays" / "p", replay_options(1, 2), "f").load()
    finished = None if found is None else found.totals.batches
    assert finished in ([None, 0], [0, 1], [1, None], [None])[state.returned]


def marker_holds(folder: Path, state: State) -> None:
    assert Marker(folder / "done").read() in ([b"all"] if state.returned else [None, b"all"])


def time_of_a_killed_writer_holds(folder: Path, state: State) -> None:
    assert BatchTimes(folder / "times", lambda: 7).of(0) in ((1_000,) if state.returned else (1_000, 7))


def configuration_holds(folder: Path, state: State) -> None:
    path = folder / "checkpoints" / "p" / "configuration"
    assert not state.returned or path.read_bytes() == b"new"


def topic_ids_hold(folder: Path, state: State) -> None:
    if state.returned:
        with pytest.raises(TopicRecreatedError):
            TopicIds(folder / "checkpoints" / "p").check({"ticks": "b"})


def removal_holds(folder: Path, state: State) -> None:
    assert not state.returned or not list((folder / "dead-letters" / "p").glob("*.jsonl"))


def file_holds(folder: Path, state: State) -> None:
    assert not state.returned or (folder / "state" / "file").read_bytes() == b"all"


def plan_holds(folder: Path, state: State) -> None:
    names = ("metadata", ".metadata.crc", "commits/0", "commits/.0.crc", "offsets/1", "offsets/.1.crc")
    assert not state.returned or {(folder / "p" / name).read_bytes() for name in names} == {b"all"}


def register_holds(folder: Path, state: State) -> None:
    texts = [None, "1", "2", None, "4", "5"]
    assert StateRegister(folder / "register").read() in texts[state.returned : state.returned + 2]
    numbers = [int(path.name) for path in (folder / "register").glob("[0-9]*")]
    assert max(numbers, default=0) >= state.returned


@pytest.mark.parametrize(
    ("what", "holds"),
    [
        ("times", times_hold),
        ("identity", identity_holds),
        ("dead letters", dead_letters_hold),
        ("marks", marks_hold),
        ("batch log", batch_log_holds),
        ("replay", replay_holds),
        ("marker", marker_holds),
        ("marker of a killed writer", marker_holds),
        ("time of a killed writer", time_of_a_killed_writer_holds),
        ("identity of a killed writer", identity_holds),
        ("configuration of a killed writer", configuration_holds),
        ("topic ids of a killed writer", topic_ids_hold),
        ("removal by a killed process", removal_holds),
        ("folder of a killed process", file_holds),
        ("file in an archive by a killed process", file_holds),
        ("plan of Spark", plan_holds),
        ("register", register_holds),
    ],
)
def test_f27_power_cut_between_any_two_calls(
    tmp_path: Path, disk_faults: DiskFaults, what: str, holds: Callable[[Path, State], None]
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    env = {**environment_without_spark(), **disk_faults.environment(trace=f"{folder}*")}
    subprocess.run([sys.executable, "-c", HEAD + WRITERS[what], str(folder)], env=env, check=True, timeout=START_S)
    acts = disk_faults.acts()
    assert {"rename", "sync"} & {act.what for act in acts}, "nothing was traced"
    count = 0
    for count, state in enumerate(states(acts), start=1):
        holds(state.write(tmp_path / f"left-{count}", folder), state)
    assert count > 3
    assert state.returned == sum(act.path.endswith(RETURNED) and act.what == "write" for act in acts) > 0
