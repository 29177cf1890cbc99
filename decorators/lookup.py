"""Set attributes from a row of a table."""

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
from ingest.decorating.errors import NoEntryError
from ingest.formats.table_file import SQLITE_LOG, Rows, csv_rows, json_rows, sqlite_rows
from ingest.suggest import did_you_mean


class Table(NamedTuple):
    """
    A table in memory.

    Attributes:
        names: all attributes that its rows may set.
        rows: key -> attributes.
    """

    names: frozenset[str]
    rows: dict[bytes, dict[str, bytes]]


_SHOWN_COLUMNS = 20


class Format(StrEnum):
    """The format of a table's file."""

    CSV = "csv"
    JSON = "json"
    SQLITE = "sqlite"


_BY_SUFFIX = {
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
        "Path of the table's file; a relative path is relative to the working directory of the command, not to the "
        "pipeline file.",
        example="/etc/ingest/services.csv",
        min_length=1,
    )
    format: Format | None = option(
        "Format of the file: `csv` with column names in the first line, `json`, or a `sqlite` database. Left out: "
        "derived from the file name (.csv, .json, .db, .sqlite, .sqlite3).",
        default=None,
        example="csv",
        strict=False,
    )
    source: str | None = option(
        "Attribute that contains the key; the body when left out.", default=None, example="service"
    )
    key: str | None = option(
        "Column of the keys; when left out the first one, or, for a JSON object, the names of its members.",
        default=None,
        example="name",
    )
    columns: dict[str, str] | None = option(
        "A mapping from columns to the attributes they set. Left out: all columns but the key, under their own names.",
        default=None,
        example={"team": "2hb_own:team"},
        min_length=1,
    )
    prefix: str = option("Put before every attribute name.", default="", example="2hb_own:")
    separator: str = option(
        'Character between two fields of CSV; "\\t" for TSV.', default=",", min_length=1, max_length=1
    )
    table: str | None = option(
        "Table or view of a SQLite database; may be left out if there is only one.", default=None, example="services"
    )
    on_not_found: FailureAction = option(
        "A key that is not in the table, or an absent attribute: the event passes unchanged (`keep`), fails "
        "(`error`), or is dropped (`drop`).",
        default="keep",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the listed columns, or of those the file has now."""
        return self._names

    @model_validator(mode="after")
    def _valid_table(self) -> Self:
        if self.form is None:
            raise PydanticCustomError(
                "missing", 'the format of "{path}" cannot be derived from its name; set `format`', {"path": self.path}
            )
        if self.table is not None and self.form is not Format.SQLITE:
            raise PydanticCustomError("conflict", "`table` is for SQLite databases", {"option": "table"})
        if not self.separator.isascii() or self.separator in '\r\n"':
            raise PydanticCustomError(
                "bad_character",
                "`separator` must be one ASCII character, and not a quote or line end",
                {"option": "separator"},
            )
        check_file(self.path, self._read)
        return self

    def _read(self, path: Path) -> None:
        self._names = _table(self, path).names

    @property
    def form(self) -> Format | None:
        """Format of the file; None if it is unknown."""
        return self.format or _BY_SUFFIX.get(Path(self.path).suffix.lower())


_FILES: dict[str, str | bytes] = {"services.csv": "name,team,tier\nshop,red,1\nsearch,blue,2\n"}


class Lookup(Decorator[LookupSettings]):
    """
    Look up the value of an attribute in a table and set attributes from the row.

    The table is a file: CSV; JSON, either an object whose members are the rows by key (each an object, or a plain value
    in the column `value`) or an array of objects; or a SQLite database. Keys and values are compared and set as bytes;
    numbers are written as in the file, booleans are `true` and `false`, and a null sets nothing. A duplicate key makes
    the file invalid.

    Each worker process holds the whole table in memory and reads it from the same path on its machine. A changed file
    is read again at the start of a split; while it is missing or broken, nothing is acknowledged. To replace it, write
    a new file to the same folder and rename it, so that a partial file is never read. An event that is processed again
    after a change may be stored with other values. For networks, use `ip`; for countries and cities, `geoip`.

    A SQLite database in WAL mode is read with the changes in its WAL file, once it was not written to for two seconds.
    If it is written to all the time, copy it (`VACUUM INTO`) and rename the copy to this path.

    Source: own design; CSV is that of RFC 4180, read by Python's csv.
    """

    kind = "lookup"
    deterministic = False
    examples = (
        Example(
            "the owner of a service",
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
            "descriptions of codes",
            settings="{path: codes.json, source: status, columns: {value: said}}",
            files={"codes.json": '{"200": "OK", "404": "Not Found"}'},
            attributes={"status": "404"},
            after={"said": "Not Found"},
        ),
        Example(
            "a key that is not in the table",
            settings="{path: services.csv, source: service}",
            files=_FILES,
            attributes={"service": "mail"},
        ),
        Example(
            "a key that is not in the table, with `on_not_found: error`",
            settings="{path: services.csv, on_not_found: error}",
            files=_FILES,
            body="mail",
            error="no_entry",
        ),
        Example(
            "an absent attribute, with `on_not_found: error`",
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
        """The reason for events whose key is not in the table."""
        return NoEntryError.code

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
        return NoEntryError(f"the table has no {shown_start(key)}")


def _table(settings: LookupSettings, path: Path) -> Table:
    """
    Read the table of a file; equal rows share one object.

    Raises:
        ValueError: the file is invalid.
    """
    header, rows = _rows(settings, path)
    if not header:
        raise ValueError("the file has no columns")
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
            raise ValueError(f'the file has two columns "{name}"')
    key_at = header.index(keys)
    wanted = [header.index(column) for column in columns]
    names = [settings.prefix + name for name in columns.values()]
    table: dict[bytes, dict[str, bytes]] = {}
    shared: dict[tuple[bytes | None, ...], dict[str, bytes]] = {}
    for location, row in rows:
        key = row[key_at]
        if key is None:
            raise ValueError(f"{location} has no key")
        if key in table:
            raise ValueError(f"{location} has the same key as an earlier row: {shown_start(key)}")
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
