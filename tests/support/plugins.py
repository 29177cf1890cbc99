"""Plugins for tests: a module with one decorator, and the metadata of an installed package."""

from pathlib import Path

SHOUT = """\
from ingest.api import Decorator, Example, Settings, option

class ShoutSettings(Settings):
    mark: str = option("What is added.", default="!")

    def sets_core(self):
        return frozenset(["body"])

class Shout(Decorator[ShoutSettings]):
    "Say it louder."

    kind = "KIND"
    examples = (Example("a word", body="hey", body_after="HEY!"),)

    def decorate(self, event):
        event.body = event.body.upper() + self.settings.mark.encode()
        return True
"""

PIPELINE = """\
version: 1
PLUGINS
stores: {m: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators:
      - DECORATOR
      - value: {attribute: "2hb_f:body", value: "%{body}"}
      - value: {attribute: "2hb_", value: "%{key}"}
    sinks: [{attr2hbase: {table: t}}]
tests:
  - name: louder
    pipeline: p
    given: [{body: hey, key: k}]
    expect: {kept: 1, puts: [{table: t, row: k, cells: {"f:body": "HEY!"}}]}
"""


def shout(kind: str) -> str:
    """The text of a module with one decorator, `Shout`, of a kind."""
    return SHOUT.replace("KIND", kind)


def pipeline(decorator: str, plugins: str = "") -> str:
    """A pipeline file with a decorator of a plugin, and a test."""
    return PIPELINE.replace("DECORATOR", decorator).replace("PLUGINS", plugins)


def install(folder: Path, package: str, points: str, *, group: str = "ingest.decorators", version: str = "1.0") -> None:
    """Write the metadata of an installed package: name, version and entry points, one a line."""
    info = folder / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{points}\n")
