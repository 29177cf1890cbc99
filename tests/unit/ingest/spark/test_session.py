"""The end of a Spark session."""

from typing import cast

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from ingest.spark.session import close_session


class Gone:
    """A session whose JVM has ended before this process."""

    def __init__(self) -> None:
        self.sparkContext = self
        self._gateway = None
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1
        raise Py4JNetworkError("Answer from Java side is empty")


def test_closing_a_session_without_its_jvm_raises_nothing():
    """Pytest fails a test if one of its threads raises."""
    session = Gone()
    close_session(cast("SparkSession", session))
    assert session.stops == 1
