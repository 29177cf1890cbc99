"""The end of a Spark session."""

from typing import cast

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from ingest.spark.session import close_session


class Gone:
    """A session whose JVM was ended by whoever ends us as well."""

    def __init__(self) -> None:
        self.sparkContext = self
        self._gateway = None
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1
        raise Py4JNetworkError("Answer from Java side is empty")


def test_jvm_that_is_gone_already_is_no_failure():
    """Pytest fails on what a thread raises."""
    session = Gone()
    close_session(cast("SparkSession", session))
    assert session.stops == 1
