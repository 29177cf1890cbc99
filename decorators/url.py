"""Parse a URL into attributes."""

import re
from typing import ClassVar

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.notation import shown_start
from ingest.decorating.choices import OnInvalid
from ingest.expressions.encodings import read_percent
from ingest.formats.byte_numbers import PERCENT

_URL = re.compile(
    rb"(?:([A-Za-z][A-Za-z0-9+.-]*):)?+"
    rb"(?://(?:([^/?#]*)@)?(\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]]*)(?::([0-9]{0,5}))?(?=[/?#]|\Z)|(?!//))"
    rb"([^?#]*)(?:\?([^#]*))?(?:#(.*))?"
)
_FORBIDDEN = re.compile(rb"[\0-\x20\x7f]")
_MAX_PORT = 65_535
_PARTS = ("scheme", "user", "host", "port", "path", "query", "fragment")


class BadUrlError(DecorateError):
    """The text is not a URL: it contains blanks or control characters, or a bad port."""

    code = "bad_url"


class UrlSettings(Settings):
    """Options of the url decorator."""

    other_names: ClassVar[None] = None

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="referrer")
    prefix: str = option(
        "Put before scheme, user, host, port, path, query and fragment.", default="", example="2hb_ref:"
    )
    decode: bool = option("Percent-decode user, path and fragment (not the query).", default=False)
    on_invalid: OnInvalid = option(
        "Text that is not a URL, or an absent attribute: the event fails (`error`) or passes unchanged (`keep`).",
        default="error",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the parts."""
        return frozenset(self.prefix + part for part in _PARTS)


class Url(Decorator[UrlSettings]):
    """
    Set attributes from the parts of a URL, absolute or relative.

    Parts that are absent or empty, such as the host in `file:///etc`, set nothing; an empty query or fragment after `?`
    or `#` sets an empty value. Scheme and host are converted to lower case, an IPv6 address loses its brackets. A
    password is never set. For the names and values in the query, use `query`.

    Source: own design; RFC 3986, but bytes beyond ASCII need no encoding, as in logs.
    """

    kind = "url"
    examples = (
        Example(
            "all parts",
            settings="{prefix: '2hb_ref:'}",
            body="https://ann:secret@Example.com:8443/shop/a%20b?q=boots&page=2#top",
            after={
                "2hb_ref:scheme": "https",
                "2hb_ref:user": "ann",
                "2hb_ref:host": "example.com",
                "2hb_ref:port": "8443",
                "2hb_ref:path": "/shop/a%20b",
                "2hb_ref:query": "q=boots&page=2",
                "2hb_ref:fragment": "top",
            },
        ),
        Example(
            "the target of an HTTP request",
            settings="{source: target, decode: true}",
            attributes={"target": "/shop/a%20b?"},
            after={"path": "/shop/a b", "query": ""},
        ),
        Example("an invalid port", body="http://example.com:http/", error="bad_url"),
        Example("not a URL, with `on_invalid: keep`", settings="{on_invalid: keep}", body="not a URL"),
        Example("an absent attribute", settings="{source: referrer}", error="no_attribute"),
    )

    def __init__(self, settings: UrlSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._names = tuple(settings.prefix + part for part in _PARTS)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        found = None if text is None or _FORBIDDEN.search(text) else _URL.fullmatch(text)
        if text is None or found is None or int(found[4] or 0) > _MAX_PORT:
            if self.settings.on_invalid is OnInvalid.KEEP:
                return True
            text = event.text_of(self._source, "to read a URL from")
            raise BadUrlError(f"{shown_start(text)} is not a URL")
        scheme, user, host, port, path, query, fragment = found.groups()
        if user is not None:
            user = user.partition(b":")[0]
        if self.settings.decode and PERCENT in text:
            path = read_percent(path)
            user = user and read_percent(user)
            fragment = fragment and read_percent(fragment)
        parts = (
            scheme and scheme.lower(),
            user or None,
            host.strip(b"[]").lower() if host else None,
            port or None,
            path or None,
            query,
            fragment,
        )
        event.update({name: part for name, part in zip(self._names, parts, strict=True) if part is not None})
        return True
