"""Options of the decorators that build a row key from parts."""

from collections.abc import Mapping
from typing import ClassVar

from ingest.api import Settings, option
from ingest.decorating.choices import OnMissing


class RowKeyOfPartsSettings(Settings):
    """Options of a decorator with the option `parts`, which sets a row key."""

    other_names: ClassVar[None] = None

    attribute: str = option("Attribute that receives the key.", default="2hb_")
    on_missing: OnMissing = option(
        "If a part names an attribute that the event does not have, the event fails (`error`), no key is set and the "
        "sink decides (`unset`), or the attribute is `empty` text.",
        default="error",
        strict=False,
    )

    @property
    def makes_row_keys(self) -> bool:
        """Always."""
        return True

    @property
    def always_sets_made(self) -> bool:
        """False if a missing attribute may leave the key unset."""
        return self.on_missing is not OnMissing.UNSET

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """The key, from its parts."""
        return {f"attribute:{self.attribute}": ("parts",)}
