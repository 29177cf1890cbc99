"""Keys and their values, as attributes: which of the keys in a text become some, and under which names."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from ingest.api.notation import name_from_bytes, name_to_bytes
from ingest.api.settings import Settings, option
from ingest.decorating.names import BoundedMemo


class KeyedSettings(Settings):
    """
    Options of every decorator that makes an attribute of each key and value in a text.

    Attributes:
        header: names of what each text has without keys, which `only` does not leave out.
    """

    header: ClassVar[tuple[str, ...]] = ()

    source: str | None = option("Attribute that is read; the body when left out.", default=None, example="message")
    prefix: str = option("Put before every key to make the attribute's name.", default="", example="2hb_app:")
    only: list[str] | None = option(
        "Only these keys become attributes; all when left out.", default=None, example=["level", "msg"], min_length=1
    )

    def sets(self) -> frozenset[str]:
        """Those that are listed, besides the header."""
        return frozenset(self.prefix + key for key in (*self.header, *(self.only or ())))

    @property
    def other_names(self) -> str | None:
        """All names begin with `prefix`."""
        return self.prefix if self.only is None else None


class Names(BoundedMemo[bytes, str]):
    """
    Key as it is written -> name of the attribute that it becomes, "" for one that becomes none.

    Args:
        only: keys that become attributes; all for None.
        header: keys that become none.
        read: the key that is meant by one as it is written; an empty one becomes none. It may raise EventErrors.
        alike: what is the same for two keys, one of them in `only`, that mean the same.
    """

    __slots__ = ()

    def __init__(
        self,
        prefix: str,
        only: Iterable[str] | None,
        header: Sequence[str] = (),
        read: Callable[[bytes], bytes] = bytes,
        alike: Callable[[bytes], bytes] = bytes,
    ) -> None:
        before = name_to_bytes(prefix)
        wanted = None if only is None else frozenset(alike(name_to_bytes(key)) for key in only)
        unwanted = frozenset([b"", *map(name_to_bytes, header)])

        def named(written: bytes) -> str:
            key = read(written)
            is_wanted = key not in unwanted and (wanted is None or alike(key) in wanted)
            return name_from_bytes(before + key) if is_wanted else ""

        super().__init__(named)
