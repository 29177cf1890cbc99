"""Signals under spark-submit, if its JVM has ended; tests/fault/test_signals.py has those of a running one."""

import socket

import pytest
from pyspark import SparkContext

from ingest.api import IngestError
from ingest.spark.signals import forward_signals


def test_jvm_that_has_ended_is_reported(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        unused = probe.getsockname()[1]
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", str(unused))
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "any")
    for name in ("_gateway", "_jvm"):  # PySpark keeps the JVM of an earlier test in this process, and would use it
        monkeypatch.setattr(SparkContext, name, None)
    with pytest.raises(IngestError, match="cannot set signal handlers") as error:
        forward_signals(lambda _number: None)
    assert error.value.code == "jvm_lost"
