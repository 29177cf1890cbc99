"""Set attributes from the row of a table that an attribute names."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from pydantic import PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.files import ReferenceFile, check_file
from ingest.api.notation import shown_start
from ingest.decorating.choices import FailureAction
from ingest.formats.table_file import SQLITE_LOG, Rows, csv_rows, json_rows, sqlite_rows
from ingest.suggest import did_you_mean


class Table(NamedTuple):
    """
    A file in memory.

    Attributes:
        names: of all attributes that its rows may set.
        rows: key -> attributes.
    """

    names: frozenset[str]
    rows: dict[bytes, dict[str, bytes]]


_SHOWN_COLUMNS = 20


class Format(StrEnum):
    """What a file is."""

    CSV = "csv"
    JSON = "json"
    SQLITE = "sqlite"


_BY_ENDING = {
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".db": Format.SQLITE,
    ".sqlite": Format.SQLITE,
    ".sqlite3": Format.SQLITE,
}


class LookupSettings(Settings):
    """Options of the lookup decorator."""

    other_names: ClassVar[None] = None
    _names: frozenset[str] = PrivateAttr(frozenset())

    path: str = option(
        "The file with the table; a relative path starts at the working directory of the command, not in the folder "
        "of the pipeline file.",
        example="/etc/ingest/services.csv",
        min_length=1,
    )
    format: Format | None = option(
        "Format of the file: `csv` with the names of the columns in its first line, `json`, or a `sqlite` database; "
        "by the ending of its name when left out (.csv, .json, .db, .sqlite, .sqlite3).",
        default=None,
        example="csv",
        strict=False,
    )
    source: str | None = option(
        "Attribute that holds the key; the body when left out.", default=None, example="service"
    )
    key: str | None = option(
        "Column with the keys; when left out the first one, and for a JSON object the names of its members.",
        default=None,
        example="name",
    )
    columns: dict[str, str] | None = option(
        "Columns, and the attribute that each of them sets; all but the key, under their own names, when left out.",
        default=None,
        example={"team": "2hb_own:team"},
        min_length=1,
    )
    prefix: str = option("Put before every attribute name.", default="", example="2hb_own:")
    separator: str = option(
        'Character between two fields of CSV; "\\t" for TSV.', default=",", min_length=1, max_length=1
    )
    table: str | None = option(
        "Table or view of a SQLite database; may be left out when there is one.", default=None, example="services"
    )
    on_not_found: FailureAction = option(
        "A key that the table does not have, or an absent attribute: the event passes as it is (`keep`), fails "
        "(`error`), or is dropped (`drop`).",
        default="keep",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """Those of the columns that are listed, or that the file has now."""
        return self._names

    @model_validator(mode="after")
    def _table_is_good(self) -> Self:
        if self.form is None:
            raise PydanticCustomError(
                "missing", 'the name "{path}" has no known ending; set `format`', {"path": self.path}
            )
        if self.table is not None and self.form is not Format.SQLITE:
            raise PydanticCustomError("conflict", "`table` is for SQLite databases", {"option": "table"})
        if not self.separator.isascii() or self.separator in '\r\n"':
            raise PydanticCustomError(
                "bad_character",
                "`separator` is one ASCII character, no quote and no line end",
                {"option": "separator"},
            )
        check_file(self.path, self._read)
        return self

    def _read(self, path: Path) -> None:
        self._names = _table(self, path).names

    @property
    def form(self) -> Format | None:
        """Format of the file, None if it cannot be derived."""
        return self.format or _BY_ENDING.get(Path(self.path).suffix.lower())


_FILES: dict[str, str | bytes] = {"services.csv": "name,team,tier\nshop,red,1\nsearch,blue,2\n"}


class Lookup(Decorator[LookupSettings]):
    """
    Look the value of an attribute up in a table and set attributes to what the columns hold.

    The table is a file: CSV; JSON, either an object of keys with an object each (or with a plain value, which is the
    column `value`), or an array of objects; or a SQLite database. A key or a value is the same bytes in the file and in
    the event; numbers are as they are written, true and false are words, and a null sets nothing. A duplicate key is an
    error of the file.

    Each worker process keeps the whole table in memory and reads it from the same path on its machine. A changed file
    is read again at the start of a split; while it is missing or broken, nothing is acknowledged. Write a new file
    beside the old one and rename it, so that a half-written file is never read. An event that runs again after the file
    changed may be stored with other values. For networks of addresses there is `ip`, for their countries and cities
    `geoip`.

    A SQLite database in WAL mode is read with the changes in its WAL file. It is read when it has not been written to
    for two seconds; of a database that is written to all the time, make a copy (`VACUUM INTO`) and rename it to the
    path given here.

    Source: ours; CSV is that of RFC 4180, read by Python's csv.
    """

    kind = "lookup"
    deterministic = False
    examples = (
        Example(
            "who owns a service",
            settings="{path: services.csv, source: service, columns: {team: '2hb_own:team'}}",
            files=_FILES,
            attributes={"service": "search"},
            after={"2hb_own:team": "blue"},
        ),
        Example(
            "all columns of a JSON object",
            settings="{path: services.json, source: service, prefix: '2hb_own:'}",
            files={"services.json": '{"shop": {"team": "red", "tier": 1.0, "on_call": true, "until": null}}'},
            attributes={"service": "shop"},
            after={"2hb_own:team": "red", "2hb_own:tier": "1.0", "2hb_own:on_call": "true"},
        ),
        Example(
            "words for codes",
            settings="{path: codes.json, source: status, columns: {value: said}}",
            files={"codes.json": '{"200": "OK", "404": "Not Found"}'},
            attributes={"status": "404"},
            after={"said": "Not Found"},
        ),
        Example(
            "a key that the table does not have",
            settings="{path: services.csv, source: service}",
            files=_FILES,
            attributes={"service": "mail"},
        ),
        Example(
            "a key that must be there",
            settings="{path: services.csv, on_not_found: error}",
            files=_FILES,
            body="mail",
            error="no_entry",
        ),
        Example(
            "an attribute that must be there",
            settings="{path: services.csv, source: service, on_not_found: error}",
            files=_FILES,
            error="no_attribute",
        ),
    )

    def __init__(self, settings: LookupSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        beside = (SQLITE_LOG,) if settings.form is Format.SQLITE else ()
        self._file = ReferenceFile(settings.path, partial(_table, settings), beside=beside)
        self._find = self._file.content.rows.get

    @property
    def drop_reason(self) -> str:
        """Only what the table does not have is dropped."""
        return "no_entry"

    def split_start(self) -> None:
        """Read the table again if the file has changed."""
        if self._file.refresh():
            self._find = self._file.content.rows.get

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        key = event.body if self._source is None else event.attributes.get(self._source)
        found = None if key is None else self._find(key)
        if found is not None:
            event.update(found)
            return True
        return self.settings.on_not_found.keeps_or_refuses(self._no_entry, event)

    def _no_entry(self, event: Event) -> DecorateError:
        key = event.text_of(self._source, "to look up")
        return DecorateError(f"the table has no {shown_start(key)}", code="no_entry")


def _table(settings: LookupSettings, path: Path) -> Table:
    """A file's table; equal rows are one object. A ValueError says what is wrong with the file."""
    header, rows = _rows(settings, path)
    if not header:
        raise ValueError("it has no columns")
    keys = header[0] if settings.key is None else settings.key
    columns = settings.columns
    if columns is None:
        columns = {name: name for name in header if name != keys}
    for name in (keys, *columns):
        if name not in header:
            option = "key" if name == settings.key else "columns"
            hint = did_you_mean(name, header) or f"it has {', '.join(header[:_SHOWN_COLUMNS])}"
            raise PydanticCustomError(
                "unknown_reference", 'the file has no column "{name}"', {"name": name, "option": option, "hint": hint}
            )
        if header.count(name) > 1:
            raise ValueError(f'it has two columns "{name}"')
    key_at = header.index(keys)
    wanted = [header.index(column) for column in columns]
    names = [settings.prefix + name for name in columns.values()]
    table: dict[bytes, dict[str, bytes]] = {}
    shared: dict[tuple[bytes | None, ...], dict[str, bytes]] = {}
    for where, row in rows:
        key = row[key_at]
        if key is None:
            raise ValueError(f"{where} has no key")
        if key in table:
            raise ValueError(f"{where} has the key {shown_start(key)}, which an earlier row has already")
        values = tuple([row[index] for index in wanted])
        found = shared.get(values)
        if found is None:
            pairs = zip(names, values, strict=True)
            found = shared[values] = {name: value for name, value in pairs if value is not None}
        table[key] = found
    return Table(frozenset(names), table)


def _rows(settings: LookupSettings, path: Path) -> Rows:
    match settings.form:
        case Format.JSON:
            return json_rows(path)
        case Format.SQLITE:
            return sqlite_rows(path, settings.table)
        case _:
            return csv_rows(path, settings.separator)
