"""The number of partitions of the frames of real queries, without a plan of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from ingest.spark.session import close_session, open_session
from ingest.spark.streaming.batch_tasks import partitions_of
from ingest.spark.streaming.reading import Session
from tests.support.short_lived import java_options
from tests.support.waiting import reached

pytestmark = pytest.mark.slow

PARTITIONS = 3


@pytest.fixture
def session() -> Iterator[Session]:
    session = open_session(
        "test",
        master="local[2]",
        driver_memory_bytes=512 << 20,
        conf={"spark.driver.extraJavaOptions": java_options()},
        secret_names=(),
        jars=(),
        java_properties={},
    )
    try:
        yield session
    finally:
        close_session(session)


def test_frame_of_a_micro_batch_has_those_of_its_rdd(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[int, int]] = []

    def on_batch(frame: DataFrame, _batch_id: int) -> None:
        planned = frame.rdd.getNumPartitions()
        with monkeypatch.context() as unplanned:
            unplanned.delattr(DataFrame, "rdd", raising=False)
            unplanned.delattr(type(frame), "rdd", raising=False)
            found.append((partitions_of(frame), planned))

    stream = session.readStream.format("rate-micro-batch").options(rowsPerBatch=9, numPartitions=PARTITIONS).load()
    query = stream.writeStream.foreachBatch(on_batch).option("checkpointLocation", str(tmp_path)).start()
    try:
        assert reached(lambda: found or not query.isActive, 120)
    finally:
        query.stop()
    assert set(found) == {(PARTITIONS, PARTITIONS)}


def test_other_frames_are_planned(session: Session) -> None:
    assert partitions_of(session.range(0, 9, 1, PARTITIONS)) == PARTITIONS
