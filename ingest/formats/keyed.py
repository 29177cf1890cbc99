"""Options and attribute names of decorators that turn keys and values of a text into attributes."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from ingest.api.notation import name_from_bytes, name_to_bytes
from ingest.api.settings import Settings, option
from ingest.decorating.names import BoundedMemo


class KeyedSettings(Settings):
    """
    Options of all decorators that set an attribute for each key in a text.

    Attributes:
        header: names of values that every text has without keys; `only` does not exclude them.
    """

    header: ClassVar[tuple[str, ...]] = ()

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="message")
    prefix: str = option("Prefix of attribute names, before the key.", default="", example="2hb_app:")
    only: list[str] | None = option(
        "Keys that become attributes; all if left out.", default=None, example=["level", "msg"], min_length=1
    )

    def sets(self) -> frozenset[str]:
        """The listed keys and the header."""
        return frozenset(self.prefix + key for key in (*self.header, *(self.only or ())))

    @property
    def other_names(self) -> str | None:
        """All names start with `prefix`."""
        return self.prefix if self.only is None else None


class Names(BoundedMemo[bytes, str]):
    """
    Key as written -> name of its attribute, "" for a key that is ignored.

    Args:
        only: keys that become attributes; all for None.
        header: keys that are ignored.
        read: decodes a key; an empty key is ignored. It may raise EventErrors.
        normalize: maps equivalent keys to the same value, for the comparison with `only`.
    """

    __slots__ = ()

    def __init__(
        self,
        prefix: str,
        only: Iterable[str] | None,
        header: Sequence[str] = (),
        read: Callable[[bytes], bytes] = bytes,
        normalize: Callable[[bytes], bytes] = bytes,
    ) -> None:
        before = name_to_bytes(prefix)
        wanted = None if only is None else frozenset(normalize(name_to_bytes(key)) for key in only)
        unwanted = frozenset([b"", *map(name_to_bytes, header)])

        def named(written: bytes) -> str:
            key = read(written)
            is_wanted = key not in unwanted and (wanted is None or normalize(key) in wanted)
            return name_from_bytes(before + key) if is_wanted else ""

        super().__init__(named)
