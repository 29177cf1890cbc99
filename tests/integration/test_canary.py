"""A secret appears in no output and no file of a service."""

import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.local import free_ports
from tests.support.service import START_S, Service

CANARY = b"c4n4ry-81f2e5a0"
READER_CANARY = b"c4n4ry-6b7d09e3"
PLUGIN = """\
from ingest.api import Decorator, Example, Settings, Source, SourceSettings, option

class FailingSettings(Settings):
    word: str = option("The word to write.")

class Failing(Decorator[FailingSettings]):
    "Fail with a message that contains the word."

    kind = "failing"
    examples = (Example("another word", settings="{word: a}", body="b"),)

    def decorate(self, event):
        if event.body == b"bad":
            raise RuntimeError("cannot use " + self.settings.word)
        return True

class RefusedSettings(SourceSettings):
    word: str = option("The word of the login.")

    @property
    def summary(self):
        return "a refused login"

class Refused(Source[RefusedSettings]):
    "Fail in a reader, with a message that contains the word."

    kind = "refused"
    examples = (Example("a word", settings="{word: a}"),)

    def identity(self):
        return {}

    def frame(self, session):
        from pyspark.sql.functions import udf

        word = self.settings.word

        def body(value):
            raise RuntimeError(f"cannot log in at amqp://u:{word}@host")

        rate = session.readStream.format("rate-micro-batch")
        rate = rate.options(rowsPerBatch="2", startTimestamp="1000", numPartitions="1").load()
        return rate.withColumn("body", udf(body, "string")("value")).selectExpr(
            "'refused' AS topic",
            "0 AS partition",
            "value AS offset",
            "CAST(NULL AS binary) AS key",
            "CAST(body AS binary) AS value",
            "unix_millis(timestamp) AS timestamp_ms",
            "CAST(array() AS array<struct<key: string, value: binary>>) AS headers",
        )
"""
DECORATORS = [
    {"value": {"attribute": "word", "value": "${secret:canary}"}},
    {"failing": {"word": "${secret:canary}"}},
    {"filter": {"drop": "%{body} == 'drop'", "reason": "${secret:canary}"}},
    {"value": {"attribute": "2hb_f:body", "value": "%{body}"}},
    {"value": {"attribute": "2hb_", "value": "%{offset}"}},
]


WHILE_IT_RUNS = ("status", "status --output json", "admin log-level debug", "reload", "pause ok", "resume ok")
OF_OK = "--pipeline ok"
DEAD_LETTERS = f"dead-letters list {OF_OK}"
REPLAY = f"dead-letters replay {OF_OK}"
WITH_SPARK = ("doctor", REPLAY)
AFTERWARDS = (
    DEAD_LETTERS,
    REPLAY,
    "validate --connect",
    "config show",
    "doctor",
    "explain --pipeline ok",
    "graph",
    "offsets show",
    f"replay --from 2020-01-01T00:00:00Z --to 2030-01-01T00:00:00Z --dry-run {OF_OK}",
    "table plan",
    "test",
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """
    Three pipelines: with dead letters in files, with a dead-letter topic on an unavailable broker, and with a source
    whose reader fails.
    """
    for name, content in (
        ("secrets/canary", CANARY.decode()),
        ("secrets/reader", READER_CANARY.decode()),
        ("in/a.log", "good\nbad\ndrop\n"),
        ("failing.py", PLUGIN),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "events").mkdir()
    pipeline: dict[str, Any] = {
        "source": {"files": {"path": "./in"}},
        "decorators": DECORATORS,
        "sinks": [{"attr2hbase": {"table": "t"}}],
    }
    topic = {
        "topic": "dead",
        "brokers": f"127.0.0.1:{free_ports(1)[0]}",
        "security": {"sasl": {"mechanism": "plain", "username": "u", "password": "${secret:canary}"}},
    }
    content = {
        "plugins": ["failing"],
        "secrets": {"directory": "./secrets"},
        "stores": {"kept": {"rocksdb": {"path": "./store"}}},
        "service": {"log": {"level": "debug"}},
        "spark": {
            "conf": {
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": f"file://{tmp_path}/events",
                "spark.eventLog.compress": "false",
                "spark.eventLog.rolling.enabled": "false",
                "spark.logConf": "true",
                "spark.example.plain": "${secret:canary}",
                "spark.hadoop.fs.example.account.key": "${secret:canary}",
            }
        },
        "pipelines": {
            "ok": pipeline,
            "stuck": pipeline | {"dead_letters": {"kafka": topic}},
            "refused": pipeline | {"source": {"refused": {"word": "${secret:reader}"}}},
        },
    }
    with Service(tmp_path, content) as service:
        yield service


def printed_by(service: Service) -> str:
    """What the service has written to stdout and stderr; under spark-submit its log may be on either."""
    return service.log.read_text(errors="replace") + service.out.read_text(errors="replace")


def outcome(service: Service, command: str) -> bytes:
    """What a command prints, whether it succeeds or not."""
    done = (service.ingest if command in WITH_SPARK else service.command)(command)
    assert not done.stderr.startswith("Traceback"), done.stderr
    return (done.stdout + done.stderr).encode()


@pytest.mark.parametrize(
    ("command", "while_it_runs", "afterwards"),
    [
        pytest.param("run", WHILE_IT_RUNS, AFTERWARDS, id="run"),
        pytest.param("submit", (), (DEAD_LETTERS,), id="submit", marks=pytest.mark.slow),
    ],
)
def test_secret_is_in_no_output_and_no_file(
    service: Service, command: str, while_it_runs: Sequence[str], afterwards: Sequence[str]
) -> None:
    command_line = [sys.executable, "-m", "ingest", "run", str(service.file)]
    if command == "submit":
        printed = service.ingest("submit", "--print")
        assert printed.returncode == 0, printed.stderr
        command_line = ["bash", "-c", f"exec {printed.stdout}"]
    service.start_command(command_line)
    service.wait_for_batches(1, "ok")
    service.wait_for_state("blocked", "stuck")
    service.wait_for(lambda: "cannot log in at amqp://u:***@host" in printed_by(service), "a masked secret", START_S)
    output = {page: service.get(page)[1].encode() for page in ("/metrics", "/pipelines", "/readyz")}
    assert 'reason="***"' in output["/metrics"].decode()
    processes = service.processes()
    assert len(processes) > 2, "driver, JVM and workers"
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # Spark's processes for a source end by themselves
            output[f"{process.pid}"] = shlex.join(process.cmdline()).encode()
    output |= {each: outcome(service, each) for each in while_it_runs}
    output["GET /reload"] = service.get("/reload")[1].encode()
    token = service.folder / "data" / "state" / "control" / "token"
    token_text = token.read_bytes().strip()
    service.stop()
    service.wait_until_gone()
    output |= {each: outcome(service, each) for each in afterwards}
    assert b"failing" in output[DEAD_LETTERS]
    given = service.folder / "data" / "state" / "spark-submit.properties"  # for spark-submit, and only for its owner
    assert (given.exists() and stat.S_IMODE(given.stat().st_mode)) == (0o600 if command == "submit" else False)
    written = [path for path in service.folder.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    written = [path for path in written if path not in (given, token)]
    assert any(path.parent.name == "events" for path in written)
    assert any("dead-letters" in path.parts for path in written)
    assert "a component has a bug" in printed_by(service)
    output |= {str(path): path.read_bytes() for path in written}
    assert [place for place, content in output.items() if CANARY in content or token_text in content] == []
    # Spark writes the exception of a reader to its event log itself
    places = {place for place, content in output.items() if READER_CANARY in content}
    assert places == {place for place in places if Path(place).parent.name == "events"}
