"""Sinks of plugins."""

LINES = """\
import os
import shutil
from pathlib import Path

from ingest.api import Committer, Example, MappingError, Sink, SinkResult, SinkSettings, SinkWriter, option


class LinesSettings(SinkSettings):
    path: str = option("Folder of the files.", example="./lines")


class Lines(Sink[LinesSettings]):
    "Write the bodies of events as lines, in a file for each micro-batch."

    kind = "lines"
    examples = (Example("a folder", settings="{path: ./lines}"),)

    def writer(self, context):
        return LinesWriter()

    def committer(self, context):
        return LinesCommitter(Path(self.settings.path), context.staging_name)


class LinesWriter(SinkWriter):
    def begin(self, spec, prepared, counts):
        self.lines, self.counts = [], counts
        self.path = Path(os.fsdecode(prepared)) / spec.task_id

    def write(self, event):
        if event.body == b"refused":
            raise MappingError("this line is refused", code="bad_line")
        if event.body == b"bug":
            raise ValueError("a bug")
        if not event.body:
            return "empty"
        self.lines.append(event.body)

    def flush(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(line + b"\\n" for line in self.lines))
        self.counts.rows_sent += len(self.lines)
        return SinkResult(os.fsencode(self.path.name))

    def close(self):
        pass


class LinesCommitter(Committer):
    def __init__(self, folder, staging_name):
        self.folder, self.staging = folder, folder / f".{staging_name}"

    def recover(self):
        shutil.rmtree(self.staging, ignore_errors=True)

    def prepare(self, batch, requests):
        return os.fsencode(self.staging / batch.attempt)

    def commit(self, batch, results):
        attempt, target = self.staging / batch.attempt, self.folder / batch.name
        content = b"".join((attempt / os.fsdecode(name)).read_bytes() for name in results if attempt.exists())
        if content:
            (attempt / "whole").write_bytes(content)
            (attempt / "whole").replace(target)
        else:
            target.unlink(missing_ok=True)
        self.abort(batch)

    def abort(self, batch):
        shutil.rmtree(self.staging / batch.attempt, ignore_errors=True)
"""
"""The text of a module with the sink `lines`, which has no store; it refuses the body `refused`."""

PIPELINE = """\
version: 1
plugins: [lining]
state_dir: ./state
pipelines:
  p:
    source: {files: {path: "./*.log"}}
    sinks:
      - lines: {path: ./lines}
"""
"""A pipeline file with only this sink."""

INDEXED = """\
from ingest.api import Put
from sinks.mapping.mapper import Mapper, MapperSettings


class Indexed(Mapper[MapperSettings]):
    "Write a row of data, and one of an index by the body."

    kind = "indexed"

    def map(self, event, batch_time_ms):
        data = Put(event.key, {b"f:body": event.body}, batch_time_ms)
        return [("data", data), ("index", Put(event.body, {b"f:row": event.key}, batch_time_ms))]
"""
"""The text of a module with a mapper that writes to two tables."""
