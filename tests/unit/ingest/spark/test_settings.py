"""The settings of a Spark session, without Java."""

import re
from pathlib import Path
from typing import Any

import pytest

from ingest.config.spark_conf import REQUIRED
from ingest.spark.settings import DEFAULTS, LOCAL, quiet_properties, session_settings, with_usable_sockets
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS

REDACTION = "spark.redaction.regex"
DRIVER_OPTIONS, EXECUTOR_OPTIONS = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"


def settings_of(*, is_submitted: bool = False, **options: Any) -> dict[str, str]:
    """Of a session with these options and no others."""
    none: dict[str, Any] = {
        "master": None,
        "driver_memory_bytes": None,
        "conf": {},
        "secret_names": (),
        "jars": (),
        "java_properties": {},
    }
    return session_settings("ticks", is_submitted=is_submitted, **(none | options))


@pytest.mark.parametrize("is_submitted", [True, False])
def test_settings_that_the_pipelines_need_are_set(is_submitted: bool):
    assert REQUIRED.items() <= settings_of(is_submitted=is_submitted).items()


def test_batches_of_rows_have_the_limits_of_spark():
    arrow = "spark.sql.execution.arrow.max"
    limits = {f"{arrow}RecordsPerBatch": str(ARROW_ROWS), f"{arrow}BytesPerBatch": str(ARROW_BYTES)}
    assert limits.items() <= REQUIRED.items()


def test_configuration_comes_before_the_defaults():
    settings = settings_of(conf={"spark.ui.enabled": "true", "spark.driver.host": "10.0.0.1", "spark.other": "1"})
    assert (DEFAULTS | LOCAL).items() - settings.items() == {
        ("spark.ui.enabled", "false"),
        ("spark.driver.host", "127.0.0.1"),
    }
    assert settings["spark.other"] == "1"
    assert settings["spark.app.name"] == "ticks"


@pytest.mark.parametrize("conf", [{}, {REDACTION: "(?i)pin"}])
def test_names_of_secrets_are_redacted(conf: dict[str, str]):
    """Spark matches the settings of Hadoop without their prefix."""
    names = ["spark.hadoop.fs.s3a.key+", "spark.x.y"]
    settings = settings_of(conf=conf | dict.fromkeys(names, "canary"), secret_names=names)
    redacted = re.compile(settings[REDACTION])
    found = [bool(redacted.search(name)) for name in ("fs.s3a.key+", "spark.x.y", "spark.xxy", "fs.s3a.keyy")]
    assert found == [True, True, False, False]
    assert bool(redacted.search("spark.my.Password")) is not bool(conf)
    assert bool(redacted.search("my.pin")) is bool(conf)


def test_redaction_without_secrets_is_that_of_spark():
    assert REDACTION not in settings_of()


def test_memory_and_jars():
    settings = settings_of(driver_memory_bytes=3 * 2**30 + 1, jars=[Path("/jars/a.jar"), Path("/jars/b.jar")])
    assert settings["spark.driver.memory"] == "3145728k"
    assert settings["spark.jars"] == "/jars/a.jar,/jars/b.jar"
    assert {"spark.driver.memory", "spark.jars"}.isdisjoint(settings_of())


def test_system_properties_come_before_the_options_of_the_configuration():
    settings = settings_of(
        conf={DRIVER_OPTIONS: "-Xss1m", EXECUTOR_OPTIONS: "-Xss2m"}, java_properties={"a": "1", "b": "2"}
    )
    ((quiet, file),) = quiet_properties().items()
    assert settings[DRIVER_OPTIONS] == f"-XX:+ExitOnOutOfMemoryError -D{quiet}={file} -Da=1 -Db=2 -Xss1m"
    assert settings[EXECUTOR_OPTIONS] == "-Da=1 -Db=2 -Xss2m"
    assert EXECUTOR_OPTIONS not in settings_of()


@pytest.mark.parametrize(("master", "is_local"), [(None, True), ("local[2]", True), ("spark://m:7077", False)])
def test_local_driver_listens_on_the_loopback_address(master: str | None, is_local: bool):
    settings = settings_of(master=master)
    assert (LOCAL.items() <= settings.items()) is is_local
    assert master is None or settings["spark.master"] == master


def test_spark_submit_was_given_the_options_of_its_jvm():
    options = {
        "master": "local[2]",
        "driver_memory_bytes": 2**30,
        "jars": [Path("/a.jar")],
        "java_properties": {"a": "1"},
    }
    assert settings_of(is_submitted=True, **options) == {"spark.app.name": "ticks"} | DEFAULTS | REQUIRED


@pytest.mark.parametrize(("folder", "conf", "is_unix"), [
    ("/tmp", {}, True),
    ("/" + 60 * "t", {}, True),
    ("/" + 61 * "t", {}, False),
    ("/" + 31 * "ö", {}, False),
    ("/" + 61 * "t", {"spark.python.unix.domain.socket.dir": "/run/attr2hbase"}, True),
])  # fmt: skip
def test_workers_use_tcp_if_the_paths_of_sockets_would_be_too_long(
    folder: str, conf: dict[str, str], is_unix: bool, capsys: pytest.CaptureFixture[str]
):
    settings = with_usable_sockets(DEFAULTS | conf, "local[2]", folder)
    assert settings["spark.python.unix.domain.socket.enabled"] == str(is_unix).lower()
    assert ("too long for Unix sockets" in "".join(capsys.readouterr())) is not is_unix


def test_workers_on_yarn_use_tcp():
    """The folder of the driver is short, those of the containers are not."""
    assert with_usable_sockets(DEFAULTS, "yarn", "/tmp")["spark.python.unix.domain.socket.enabled"] == "false"
