"""Parse a query string into attributes."""

from ingest.api import Decorator, Event, Example, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.choices import OnRepeated
from ingest.expressions.encodings import read_percent
from ingest.formats import byte_order_marks
from ingest.formats.byte_numbers import PERCENT
from ingest.formats.keyed import KeyedSettings, Names


class QuerySettings(KeyedSettings):
    """Options of the query decorator."""

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="query")
    only: list[str] | None = option(
        "Only these names become attributes; all when left out.", default=None, example=["q", "page"], min_length=1
    )
    on_repeated: OnRepeated = option(
        "If a name repeats, use the `last` or the `first` value, or join all of them (`join`).",
        default="last",
        strict=False,
    )
    separator: str = option("Separator between joined values.", default=",", example=";")
    plus_is_blank: bool = option("Read a plus sign as a space, as HTML forms write it.", default=True)


class Query(Decorator[QuerySettings]):
    """
    Set an attribute for each name and value of a query string, or of form data in the body.

    A byte order mark and a question mark at the start are removed. Names and values are percent-decoded; a percent sign
    without two hexadecimal digits stays. A name without a value gets an empty one; values without a name are ignored.
    To extract the query from a URL, use `url`.

    Source: own design; the format is application/x-www-form-urlencoded of the URL Standard.
    """

    kind = "query"
    examples = (
        Example(
            "a column for each name",
            settings="{source: query, prefix: '2hb_arg:'}",
            attributes={"query": "q=black+boots&size=4%322&new"},
            after={"2hb_arg:q": "black boots", "2hb_arg:size": "422", "2hb_arg:new": ""},
        ),
        Example(
            "all values of one name",
            settings="{only: [tag], on_repeated: join}",
            body="?tag=a&page=2&tag=b",
            after={"tag": "a,b"},
        ),
        Example("an absent attribute", settings="{source: query}", error="no_attribute"),
    )

    def __init__(self, settings: QuerySettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._separator = name_to_bytes(settings.separator)
        self._plus_is_blank = settings.plus_is_blank
        self._takes_last, self._joins = (settings.on_repeated is each for each in (OnRepeated.LAST, OnRepeated.JOIN))
        self._names = Names(settings.prefix, settings.only, read=read_percent)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self._source, "to read names and values from")
        text = text.removeprefix(byte_order_marks.UTF8).removeprefix(b"?")
        if self._plus_is_blank:
            text = text.replace(b"+", b" ")
        names, takes_last = self._names.known, self._takes_last
        is_escaped = PERCENT in text
        found: dict[str, bytes] = {}
        several: dict[str, list[bytes]] = {}
        for pair in text.split(b"&"):
            key, _, value = pair.partition(b"=")
            try:
                name = names[key]
            except KeyError:
                name = self._names[key]
            if not name:
                continue
            if is_escaped and PERCENT in value:
                value = read_percent(value)
            if takes_last or name not in found:
                found[name] = value
            elif self._joins:
                several.setdefault(name, [found[name]]).append(value)
        if several:  # checked first, since an empty loop costs more than the test
            for name, values in several.items():
                found[name] = self._separator.join(values)
        event.update(found)
        return True
