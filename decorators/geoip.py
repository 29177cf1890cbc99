"""Locate an IP address with a database in MaxMind's format."""

import json
import os
import zlib
from base64 import b85decode
from io import BytesIO
from pathlib import Path
from typing import ClassVar, Self

import maxminddb
from maxminddb.types import Record
from pydantic import model_validator

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.files import ReferenceFile, check_file
from ingest.api.notation import shown_start
from ingest.decorating.choices import FailureAction, OnInvalid
from ingest.decorating.errors import BadAddressError, NoEntryError
from ingest.decorating.names import BoundedMemo
from ingest.formats.addresses import packed, written
from ingest.formats.numbers import number_text

_MAX_ADDRESSES = 16_384  # cached: events often have the same addresses

# for the examples: a database with one entry, London for 81.0.0.0/8
_LONDON = (
    "c-mc0K~BR!4BVDL`-C3z0^We4Leqwb1HExrIlHD^l-SYk1`%FE&wK(Nz#{@DPKY0LwNgQ<W!WR!Gb0Nz5@H&2EX2tHCqkS?a2D(2FrSH|"
    "_*y9L$lLxiH;$!ZjoBhw8z&7(>@2qkBs(%pVlr38_roPYgKo%>uCAFhQ(m(IA1;Qx4&8Sew-?K|sQ>!$Q^HeeNS`ZizE>0sWVC#r78Vs-"
    "EuDGB-E3uA`H0p9on2CD@KAw6>H8MvYjl2D18q9kpc^H@`>rwswwL#88}PD$2eyCw@$uHs|MsP*I#X+jEvs!Z#@k;}XmrY&Ha-!=ZyL~;"
    "2676i58itcA9fD"
)
_FILES: dict[str, str | bytes] = {"cities.mmdb": zlib.decompress(b85decode(_LONDON))}


class BadAddressDatabaseError(DecorateError):
    """A database of addresses is damaged at the entry of this address."""

    code = "bad_database"
    remedy = "Put an undamaged database in its place; then replay the dead letters."


class GeoipSettings(Settings):
    """Options of the geoip decorator."""

    other_names: ClassVar[None] = None

    path: str = option(
        "Path of the database, a `.mmdb` file; a relative path is relative to the working directory of the command.",
        example="/var/lib/GeoIP/GeoLite2-City.mmdb",
        min_length=1,
    )
    fields: dict[str, str] = option(
        "A mapping from fields of the database to the attributes they set. Dots separate nested names; numbers are "
        "indexes of lists.",
        example={"country.iso_code": "2hb_geo:country", "subdivisions.0.iso_code": "2hb_geo:region"},
        min_length=1,
    )
    source: str | None = option(
        "Attribute that holds the address; the body when left out.", default=None, example="client"
    )
    on_not_found: FailureAction = option(
        "An address that is not in the database: the event passes unchanged (`keep`), fails (`error`), or is dropped "
        "(`drop`).",
        default="keep",
        strict=False,
    )
    on_invalid: OnInvalid = option(
        "Text that is not an address, or an absent attribute: the event fails (`error`) or passes unchanged (`keep`).",
        default="error",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the fields."""
        return frozenset(self.fields.values())

    @model_validator(mode="after")
    def _valid_database(self) -> Self:
        check_file(self.path, _database)
        return self


class Geoip(Decorator[GeoipSettings]):
    """
    Set attributes from the entry of an IP address in a MaxMind database: country, city, network, or any other field.

    A field that an entry lacks sets nothing. Text is UTF-8, numbers are digits, booleans are `true` and `false`, a list
    or map becomes JSON. You provide the database, at the same path on every machine that runs tasks; each worker
    process loads it into memory. A changed file is read at the start of a split; while it is missing or broken, nothing
    is acknowledged. An event that is processed again after a change may be stored with other values. For the class of
    an address and your own networks, use `ip`; for your own tables, `lookup`.

    Source: own design; the format is MaxMind DB 2.0.
    """

    kind = "geoip"
    deterministic = False
    examples = (
        Example(
            "country and city",
            settings="{path: cities.mmdb, source: client, fields: {country.iso_code: '2hb_geo:country', "
            "city.names.en: '2hb_geo:city', subdivisions.0.iso_code: '2hb_geo:region'}}",
            files=_FILES,
            attributes={"client": "81.2.69.160"},
            after={"2hb_geo:country": "GB", "2hb_geo:city": "London"},
        ),
        Example(
            "an address that is not in the database",
            settings="{path: cities.mmdb, fields: {city.names.en: city}}",
            files=_FILES,
            body="10.0.0.1",
        ),
        Example(
            "numbers and booleans",
            settings="{path: cities.mmdb, fields: {location.latitude: lat, country.is_in_european_union: eu}}",
            files=_FILES,
            body="::ffff:81.0.0.1",
            after={"lat": "51.5", "eu": "false"},
        ),
        Example(
            "an address that is not in the database, with `on_not_found: error`",
            settings="{path: cities.mmdb, fields: {city.names.en: city}, on_not_found: error}",
            files=_FILES,
            body="2001:db8::1",
            error="no_entry",
        ),
        Example(
            "not an address",
            settings="{path: cities.mmdb, fields: {city.names.en: city}}",
            files=_FILES,
            body="web-1",
            error="bad_address",
        ),
    )

    def __init__(self, settings: GeoipSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._fields = tuple((tuple(field.split(".")), name) for field, name in settings.fields.items())
        self._is_strict = settings.on_invalid is OnInvalid.ERROR
        self._file = ReferenceFile(settings.path, _database)
        self._entries = BoundedMemo(self._looked_up, max_keys=_MAX_ADDRESSES)

    @property
    def drop_reason(self) -> str:
        """The reason for events whose address is not in the database."""
        return NoEntryError.code

    def split_start(self) -> None:
        """Read the database again if the file has changed."""
        if self._file.refresh():
            self._entries.known.clear()

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        address = None if text is None else packed(text)
        if address is None:
            if self._is_strict:
                text = event.text_of(self._source, "to read an address from")
                raise BadAddressError(f"{shown_start(text)} is not an IP address")
            return True
        try:
            found = self._entries.known[address]
        except KeyError:
            found = self._entries[address]
        if found is not None:
            event.update(found)
            return True
        return self.settings.on_not_found.keeps_or_refuses(_no_entry, address)

    def _looked_up(self, address: bytes) -> dict[str, bytes] | None:
        try:
            record = self._file.content.get(written(address).decode())
        except (maxminddb.InvalidDatabaseError, UnicodeDecodeError) as error:
            raise BadAddressDatabaseError(
                f'the entry of "{written(address).decode()}" in the database is broken: {error}',
            ) from error
        except ValueError:  # an IPv6 address in a database of IPv4
            record = None
        if record is None:
            return None
        found = {}
        for path, name in self._fields:
            value = _at(record, path)
            if value is not None:
                found[name] = _bytes(value)
        return found


def _no_entry(address: bytes) -> DecorateError:
    return NoEntryError(f'the database has no entry for "{written(address).decode()}"')


def _database(path: Path) -> maxminddb.Reader:
    """
    Open a database from the current content of a file.

    The fast reader maps its file into memory. If that file were overwritten, results would change; if it were
    truncated, the process would crash. So the reader maps an anonymous copy.

    Raises:
        ValueError: the file is not a MaxMind database.
    """
    content = path.read_bytes()
    try:
        if not hasattr(os, "memfd_create"):
            return maxminddb.open_database(BytesIO(content), maxminddb.MODE_FD)
        descriptor = os.memfd_create("geoip")
        with os.fdopen(descriptor, "wb") as copy:
            copy.write(content)
            copy.flush()
            return maxminddb.open_database(f"/proc/self/fd/{descriptor}")
    except (maxminddb.InvalidDatabaseError, TypeError, OSError) as error:
        raise ValueError("it is not a MaxMind database, or truncated") from error


def _at(record: Record, path: tuple[str, ...]) -> Record | None:
    """The value at a path of a record; None if there is none."""
    value: Record | None = record
    for name in path:
        match value:
            case dict():
                value = value.get(name)
            case list() if name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
            case _:
                return None
    return value


def _bytes(value: Record) -> bytes:
    match value:
        case str():
            return value.encode()
        case bool():
            return b"true" if value else b"false"
        case int() | float():
            return number_text(value)
        case bytes() | bytearray():
            return bytes(value)
        case _:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda data: bytes(data).hex())
            return text.encode()
