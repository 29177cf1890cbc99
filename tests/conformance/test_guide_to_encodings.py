"""The guide to encodings shows the right bytes and types, and options that decorators accept."""

import json
import re
import struct
from pathlib import Path

import pytest

from decorators.convert import Convert
from decorators.json import Json
from ingest.api import DecorateError
from ingest.catalog import Catalog
from ingest.formats import phoenix
from ingest.formats.cell_types import CODECS, CellType
from ingest.formats.phoenix import PhoenixType
from ingest.testing.events import event_of, settings_of
from tests.support.guides import run_tests

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "encodings.md").read_text("utf-8")


def rows(head: str) -> list[list[str]]:
    """The cells of the table with this start of its first line, without backquotes."""
    lines = GUIDE.partition(f"\n{head}")[2].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


TYPES = [(kind, text, content) for kind, _, text, content in rows("| type | bytes |")]
CHOSEN = rows("| value | `convert` |")
OF_PHOENIX = rows("| type | encoding |")
[PIPELINE] = re.findall(r"^```yaml\n(version.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_every_type_is_shown() -> None:
    assert {kind for kind, _, _ in TYPES} == set(CellType)


@pytest.mark.parametrize(("kind", "text", "content"), TYPES)
def test_bytes_that_spark_writes_and_reads(kind: str, text: str, content: str) -> None:
    value = json.loads(text) if kind not in {"utf8", "json"} else text
    codec = CODECS[CellType(kind)]
    assert (codec.encode(value).hex(), codec.decode(bytes.fromhex(content))) == (content, value)


@pytest.mark.parametrize(("kind", "text", "content"), [each for each in TYPES if each[0] != "json"])
def test_bytes_that_convert_writes_and_reads(kind: str, text: str, content: str) -> None:
    packed = chosen(Convert, f"{{source: a, encode: {kind}}}", event_of("", {"a": text}))
    assert packed.hex() == content
    assert chosen(Convert, f"{{source: a, decode: {kind}}}", event_of("", {"a": packed})) == text.encode()


def chosen(kind, settings, event):
    """The value of the attribute `a`, or "error"."""
    try:
        kind(settings_of(kind.settings_class(), settings)).decorate(event)
    except DecorateError:
        return "error"
    return event.attributes["a"]


def written(text, kind):
    match kind:
        case "int64":
            return struct.pack(">q", int(text))
        case "float64":
            return struct.pack(">d", float(text))
        case "text":
            return text.encode()
    return kind


@pytest.mark.parametrize(("text", "by_convert", "by_json"), CHOSEN)
def test_type_that_auto_chooses(text: str, by_convert: str, by_json: str) -> None:
    found = chosen(Convert, "{source: a, encode: auto}", event_of("", {"a": text}))
    assert found == written(text, by_convert)
    found = chosen(Json, "{numbers: auto}", event_of(f'{{"a": {text}}}'))
    assert found == written(text.strip('"'), by_json or "error")


def test_every_type_of_phoenix_is_shown() -> None:
    assert [kind for kind, *_ in OF_PHOENIX] == [kind.upper() for kind in PhoenixType if kind in phoenix.CODECS]


@pytest.mark.parametrize(("kind", "encoding", "text", "content"), OF_PHOENIX)
def test_bytes_of_phoenix(kind: str, encoding: str, text: str, content: str) -> None:
    assert encoding == f"phoenix_{kind.lower()}"
    assert chosen(Convert, f"{{source: a, encode: {encoding}}}", event_of("", {"a": text})).hex() == content


def test_pipeline_into_a_table_of_phoenix_passes_its_tests(tmp_path: Path) -> None:
    done = run_tests(PIPELINE, tmp_path)
    assert (done.returncode, "warning" in done.stderr) == (0, False), done.stdout + done.stderr


def test_numbers_in_the_text() -> None:
    text = GUIDE.partition("## One column")[2]
    assert str(int.from_bytes(struct.pack(">d", 1.5), "big")) in text
    assert f"`77387187` is the int64 {int.from_bytes(b'77387187', 'big')}" in text
    assert f"{int.from_bytes(b'1234', 'big')} has the bytes of the text `1234`" in text


@pytest.mark.parametrize(("kind", "options"), re.findall(r"`(convert|json|avro): (\{[^`]*\})", GUIDE))
def test_options_are_accepted(kind: str, options: str) -> None:
    schema = json.dumps({"type": "record", "name": "A", "fields": []})
    options = options.replace("schema_file: metric.avsc", f"schema_text: '{schema}'")
    component = Catalog().load("decorators", kind)
    assert component(settings_of(component.settings_class(), options))
