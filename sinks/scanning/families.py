"""The families of the columns that a scan or get selects."""

from collections.abc import Iterable
from typing import Any

from ingest.api import NotFoundError, Store, split_column
from ingest.api.notation import readable
from ingest.suggest import did_you_mean


def check_families(store: Store[Any], table: str, columns: Iterable[bytes] | None) -> None:
    """
    Refuse columns of families that the table does not have, instead of returning nothing.

    Raises:
        NotFoundError: the table has no such family.
    """
    families = sorted(store.families(table) or ()) if columns else []
    for column in columns or ():
        family, qualifier = split_column(column)
        if family in families:
            continue
        known = list(map(readable, families))
        existing = f"there is {', '.join(known) or 'none'}"
        if qualifier is None:
            hint = f"write FAMILY:QUALIFIER, or a whole FAMILY; {existing}"
        else:
            hint = did_you_mean(readable(family), known) or existing
        raise NotFoundError(f'there is no family "{readable(family)}" in table "{table}"', hint=hint)
