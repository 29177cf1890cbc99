"""The peer of the stage `chain`: Benthos 4.27 runs the same regex, from Kafka to a file without a sync."""

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.peer import Peer
from tests.bench.watching import Processes, Sample
from tests.bench.workload import COLUMNS, FAMILY, PATTERN
from tests.support.local import free_ports, jars

VERSION = "v4.27.0"
_MODULE = "github.com/benthosdev/benthos/v4"
# the versions of its dependencies are those of its own go.mod; Go checks them against the checksum database
_GO_MOD = f"module bench\n\ngo 1.21\n\nrequire {_MODULE} {VERSION}\n"
_SENT = re.compile(rb'^output_sent\{[^}]*path="root\.output"[^}]*\} (\S+)$', re.MULTILINE)


class Benthos(Peer):
    """One process that reads one topic; `program` is the result of `built`."""

    repeats = False

    def __init__(self, program: Path, folder: Path, *, brokers: str, topic: str, group: str) -> None:
        super().__init__(folder)
        self._program = program
        (self._port,) = free_ports(1)
        self._file = folder / "events.jsonl"
        self._settings = folder / "benthos.json"
        self._settings.write_text(json.dumps(self._content(brokers, topic, group)))

    def commands(self) -> Mapping[str, Sequence[str]]:
        """The command of the process."""
        return {"benthos": [str(self._program), "-c", str(self._settings)]}

    def measured(self, events: int, servers: Processes) -> Sample:
        """
        Measure it, as any peer.

        Raises:
            RuntimeError: the output is the unchanged lines, as if the mapping fails.
        """
        sample = super().measured(events, servers)
        self._check()
        return sample

    def stored(self) -> int:
        """Number of events in the file; 0 while it does not respond."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                found = _SENT.search(answer.read())
        except OSError:
            return 0
        return 0 if found is None else int(float(found[1]))

    def _check(self) -> None:
        with self._file.open() as lines:
            first = lines.readline()
        wanted = {"row", *(f"{FAMILY}:{name}" for name in COLUMNS)}
        if not first.startswith("{") or json.loads(first).keys() != wanted:
            raise RuntimeError(f"benthos wrote an unexpected event: {first[:200]}")

    def _content(self, brokers: str, topic: str, group: str) -> dict[str, object]:
        mapping = (
            f'let found = content().string().re_find_object({json.dumps(named_pattern())}).without("0")\n'
            f'root = $found.map_each_key(key -> "{FAMILY}:" + key)\n'
            'root.row = meta("kafka_topic") + ":" + meta("kafka_partition") + ":" + meta("kafka_offset")\n'
        )
        return {
            "http": {"address": f"127.0.0.1:{self._port}"},
            "input": {
                "kafka_franz": {
                    "seed_brokers": [brokers],
                    "topics": [topic],
                    "consumer_group": group,
                    "checkpoint_limit": 100_000,
                    "batching": {"count": 5_000, "period": "100ms"},
                }
            },
            "pipeline": {"threads": -1, "processors": [{"mapping": mapping}]},
            "output": {"file": {"path": str(self._file), "codec": "lines"}},
            "metrics": {"prometheus": {}},
            "logger": {"level": "WARN"},
        }


def named_pattern() -> str:
    """The regex with a named group for each column; Benthos uses the names as keys."""
    names = iter(COLUMNS)
    return re.sub(r"\((?!\?)", lambda _: f"(?P<{next(names)}>", PATTERN)


def built() -> Path:
    """
    The program, built by Go at the first call.

    Raises:
        RuntimeError: Go is missing, or the build failed.
    """
    folder = jars.cache_folder() / "benthos" / VERSION
    program = folder / "benthos"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise RuntimeError("Go is needed to build benthos: install it, or omit the part")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(_GO_MOD)
    # a dependency links to internals of Go's runtime, which newer versions of Go allow only with this flag
    flags = ["-mod=mod", "-buildvcs=false", "-ldflags=-checklinkname=0"]
    command = [go, "build", *flags, "-o", "benthos", f"{_MODULE}/cmd/benthos"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"benthos cannot be built: {done.stderr[-2000:]}")
    return program
