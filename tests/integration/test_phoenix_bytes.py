"""Values, row keys and cells that are made for Phoenix are byte for byte those that Phoenix makes."""

import random
import re
import struct
from base64 import b64decode
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from decorators.phoenix_row_key import NullInKeyError, PhoenixRowKey, PhoenixRowKeySettings
from ingest.expressions.phoenix import WRITE
from ingest.formats.numbers import float32, number_text
from ingest.formats.phoenix import CODECS, PhoenixType, descending
from ingest.testing.events import event_of
from tests.support.java_program import JavaProgram, ProgramError
from tests.support.local import jars

VALUES = 1000
TABLES = 50
KEYS_OF_A_TABLE = 20
SUPPORT = Path(__file__).parents[1] / "support"
GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "encodings.md").read_text("utf-8")
SIZES = {"tinyint": 8, "smallint": 16, "int": 32, "integer": 32}
VARIABLE = {PhoenixType.VARCHAR, PhoenixType.VARBINARY, PhoenixType.DECIMAL}


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    folder = tmp_path_factory.mktemp("phoenix")
    path = jars.class_path("phoenix", SUPPORT)
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", path, str(SUPPORT / "PhoenixRows.java")]
    with JavaProgram(command, folder / "log") as program:
        yield program


def a_text(kind: str, chance: random.Random) -> bytes:
    """The text of a random value of a type of CODECS, as events have it."""
    is_signed = not kind.startswith("unsigned_")
    match kind.removeprefix("unsigned_"):
        case "float" | "double":
            layout, bits = (">f", 32) if kind.endswith("float") else (">d", 64)
            while True:
                (number,) = struct.unpack(layout, chance.getrandbits(bits - (not is_signed)).to_bytes(bits // 8, "big"))
                if number - number == 0:
                    return number_text(float32(number) if bits == 32 else number)
        case "decimal":
            digits = chance.getrandbits(chance.randint(1, 126))
            return b"%s%dE%d" % (chance.choice((b"", b"-")), digits, chance.randint(-80, 80))
        case "boolean":
            return chance.choice((b"true", b"false"))
        case "timestamp":
            nanos = chance.getrandbits(62) - is_signed * 2**61
            return f"{Decimal(nanos).scaleb(-6):f}".encode()
        case name:
            bits = chance.randint(1, SIZES.get(name, 64) - 1)
            return b"%d" % (chance.getrandbits(bits) * (chance.choice((1, -1)) if is_signed else 1))


def word(kind: str, text: bytes) -> str:
    """As PhoenixRows reads it."""
    if kind.endswith("timestamp"):
        text = b"%d" % (Decimal(text.decode()) * 10**6)
    return text.hex() if text else "-"


@pytest.mark.slow
@pytest.mark.parametrize("kind", CODECS)
def test_values(phoenix: JavaProgram, kind: PhoenixType):
    chance = random.Random(f"values {kind}")
    for _ in range(VALUES):
        text = a_text(kind, chance)
        value = WRITE[kind](text)
        assert value.hex() == phoenix.ask("value", kind.upper(), "ASC", word(kind, text)), text
        other = descending(kind)(value)
        assert other.hex() == phoenix.ask("value", kind.upper(), "DESC", word(kind, text)), text
        assert CODECS[kind].encode(CODECS[kind].decode(descending(kind)(other))) == value


@pytest.mark.slow
def test_row_keys(phoenix: JavaProgram):
    """Random tables with random keys: all types, orders, widths, NULLs and numbers of buckets."""
    chance = random.Random("row keys")
    for number in range(TABLES):
        parts = random_parts(chance)
        settings = {"parts": parts, "on_missing": "empty"}
        name, options = f"T{number}", ""
        if buckets := chance.choice((None, 1, 7, 16, 256)):
            settings["salt_buckets"] = buckets
            options = f" SALT_BUCKETS={buckets}"
        columns = ", ".join(column(index, part) for index, part in enumerate(parts))
        key = ", ".join(f"C{index} {part['order']}" for index, part in enumerate(parts))
        phoenix.ask("execute", f"CREATE TABLE {name} ({columns} CONSTRAINT PK PRIMARY KEY ({key})){options}")
        decorator = PhoenixRowKey(PhoenixRowKeySettings.model_validate(settings))
        for _ in range(KEYS_OF_A_TABLE):
            texts = [part_text(part, chance, is_last=part is parts[-1]) for part in parts]
            event = event_of(attributes={f"c{index}": text for index, text in enumerate(texts)})
            words = [word(part["type"], text) for part, text in zip(parts, texts, strict=True)]
            if not any(texts) and (buckets is None or len(parts) == 1):
                with pytest.raises(NullInKeyError):
                    decorator.decorate(event)
                with pytest.raises(ProgramError, match="may not be null"):
                    phoenix.ask("row", name, *words)
                continue
            decorator.decorate(event)
            rows = {cell.split("/")[0] for cell in phoenix.ask("row", name, *words).split()}
            assert rows == {event.attributes["2hb_"].hex()}, (parts, texts)


def random_parts(chance: random.Random) -> list[dict[str, object]]:
    kinds = chance.choices([kind for kind in PhoenixType if kind is not PhoenixType.VARBINARY], k=chance.randint(1, 4))
    kinds += [PhoenixType.VARCHAR] * chance.randint(0, 1) + [PhoenixType.VARBINARY] * chance.randint(0, 1)
    parts = []
    for index, kind in enumerate(kinds):
        order = "asc" if kind in {PhoenixType.BOOLEAN, PhoenixType.VARBINARY} else chance.choice(("asc", "desc"))
        part = {"value": f"%{{c{index}}}", "type": str(kind), "order": order}
        if kind in {PhoenixType.CHAR, PhoenixType.BINARY}:
            part["width"] = chance.randint(1, 9)
        parts.append(part)
    return parts


def column(index: int, part: dict[str, object]) -> str:
    width = f"({part['width']})" if "width" in part else ""
    return f"C{index} {part['type']}{width}{'' if part['type'] in VARIABLE else ' NOT NULL'}"


def part_text(part: dict[str, object], chance: random.Random, *, is_last: bool) -> bytes:
    kind = str(part["type"])
    if kind in VARIABLE and chance.random() < 0.3:
        return b""
    match kind:
        case "char":
            return bytes(chance.choices(range(33, 127), k=chance.randint(1, part["width"])))
        case "binary":
            return chance.randbytes(chance.randint(1, part["width"]))
        case "varchar":
            return "".join(chance.choices("abc ~äß€🔑" + "\0" * (is_last and part["order"] == "asc"), k=5)).encode()
        case "varbinary":
            return chance.randbytes(chance.randint(1, 9))
    return a_text(kind, chance)


@pytest.mark.slow
def test_a_descending_boolean_is_refused_since_phoenix_reads_both_as_false(phoenix: JavaProgram):
    phoenix.ask("execute", "CREATE TABLE B (C0 BOOLEAN NOT NULL CONSTRAINT PK PRIMARY KEY (C0 DESC))")
    for text in (b"true", b"false"):
        row = phoenix.ask("row", "B", text.hex()).split("/")[0]
        assert phoenix.ask("read", "BOOLEAN", "DESC", row) == "false"


@pytest.mark.slow
def test_cells(phoenix: JavaProgram):
    """Every row has the empty column in the first family, and a CHAR is filled with spaces."""
    phoenix.ask("execute", "CREATE TABLE PLAIN (K BIGINT PRIMARY KEY, V DOUBLE, C CHAR(3)) COLUMN_ENCODED_BYTES=NONE")
    cells = phoenix.ask("row", "PLAIN", b"7".hex(), b"2.5".hex(), b"k".hex()).split()
    row = WRITE[PhoenixType.BIGINT](b"7").hex()
    assert set(cells) == {
        "/".join((row, b"0".hex(), name.hex(), value.hex()))
        for name, value in ((b"V", WRITE[PhoenixType.DOUBLE](b"2.5")), (b"C", b"k  "), (b"_0", b"x"))
    }
    phoenix.ask("execute", "CREATE TABLE NAMED (K BIGINT PRIMARY KEY, M.V INTEGER, A.W INTEGER) COLUMN_ENCODED_BYTES=0")
    cells = phoenix.ask("row", "NAMED", b"7".hex(), "-", "-").split()
    assert cells == ["/".join((row, b"M".hex(), b"_0".hex(), b"x".hex()))]


@pytest.mark.slow
def test_rows_of_the_guide(phoenix: JavaProgram):
    """The rows that the tests of the guide's pipeline expect are those of its table."""
    [table] = re.findall(r"^```sql\n(CREATE TABLE METRICS .*?);\n```$", GUIDE, re.MULTILINE | re.DOTALL)
    [pipeline] = re.findall(r"^```yaml\n(version.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    phoenix.ask("execute", table.replace("\n", " "))
    full, short, _ = yaml.safe_load(pipeline)["tests"]
    nanos = b"%d" % (1_795_162_500 * 10**9)
    for test, words in (
        (full, (b"ber", nanos, b"s1", b"-2.5", b"100", b"1.5", b"kB")),
        (short, (b"ber", nanos, b"", b"", b"", b"", b"")),
    ):
        cells = phoenix.ask("row", "METRICS", *(each.hex() or "-" for each in words)).split()
        [put] = test["expect"]["puts"]
        expected = {
            "/".join(each.hex() for each in (plain(put["row"]), *name.encode().split(b":"), plain(value)))
            for name, value in put["cells"].items()
            if value is not None
        }
        assert set(cells) == expected


def plain(value: str | dict[str, str]) -> bytes:
    return value.encode() if isinstance(value, str) else b64decode(value["b64"])
