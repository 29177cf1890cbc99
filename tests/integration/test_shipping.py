"""Content for the tasks of real Spark jobs leaves no file in `spark.local.dir`; the memory of its JVM."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from ingest.spark.jvm_memory import jvm_memory
from ingest.spark.session import close_session, open_session
from ingest.spark.shipping import Content, Shipment, shipped
from ingest.spark.streaming.reading import Session
from tests.support.short_lived import java_options

INLINE_BYTES = 1_000
PLAN, SPEC = bytes(5_000), bytes(3_000)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))  # workers import this module
    session = open_session(
        "test",
        master="local[2]",
        driver_memory_bytes=512 << 20,
        conf={"spark.driver.extraJavaOptions": java_options(), "spark.local.dir": str(tmp_path)},
        secret_names=(),
        jars=(),
        java_properties={},
    )
    try:
        yield session
    finally:
        close_session(session)


def sizes(plan: Content, spec: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_arrays([pa.array([len(plan.value)]), pa.array([len(spec)])], names=["plan", "spec"])


def test_plan_and_specs_of_many_jobs_leave_no_files(session: Session) -> None:
    # PySpark has no public name for its folder; a JVM that another test has started keeps its own spark.local.dir
    folder = Path(str(vars(session.sparkContext)["_temp_dir"]))

    def files() -> set[Path]:
        return {path for path in folder.iterdir() if path.is_file()}

    before, frame = files(), session.range(0, 2, 1, 2)
    plan = Shipment(session, PLAN, inline_bytes=INLINE_BYTES)
    for spec in [SPEC, b""] * 5:
        with shipped(session, partial(sizes, plan.content(), spec), inline_bytes=INLINE_BYTES) as function:
            rows = frame.mapInArrow(function, "plan long, spec long").collect()
        assert {tuple(row) for row in rows} == {(len(PLAN), len(spec))}
        assert len(files() - before) == 1
    plan.close()
    assert files() == before


def test_memory_of_the_jvm(session: Session) -> None:
    memory = jvm_memory(session)
    assert memory is not None
    assert 1 << 20 < memory.heap_used_bytes < memory.heap_max_bytes
    assert memory.gc_seconds >= 0
