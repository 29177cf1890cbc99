"""The table that an event is written to."""

import re
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ingest.api import Event, MappingError, alias_rejection
from ingest.api.notation import name_from_bytes
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Template

_LEGAL = re.compile(rb"(?!hbase:|default:)(?:[A-Za-z0-9_][A-Za-z0-9_.-]*:)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MAX_NAMES = 1_000  # cached; a bound, since names come from the data


class BadTableNameError(MappingError):
    """The template of the table rendered an invalid table name."""

    code = "bad_table_name"
    remedy = "Change the template: table names have only letters, digits, `_`, `-` and `.`."


class TableNames:
    """
    Names of tables that a template gives.

    Attributes:
        constant: the name if it is the same for all events, else None.
    """

    def __init__(self, template: Template) -> None:
        self._render = template.render
        self._names = BoundedMemo(self._checked, max_keys=_MAX_NAMES)
        self.constant = None if template.constant is None else template.constant.decode()

    @staticmethod
    def is_legal(name: bytes) -> bool:
        """Whether HBase allows a table of this name, with or without a namespace; no system table and no alias."""
        return _LEGAL.fullmatch(name) is not None

    def of(self, event: Event) -> str:
        """
        The table of an event.

        Raises:
            MappingError: the template does not give a valid name of a table.
        """
        return self._names[self._render(event)]

    def _checked(self, data: bytes) -> str:
        if not self.is_legal(data):
            raise BadTableNameError(
                f"the template gives {name_from_bytes(data)!r}, which is not the name of a table",
                hint=alias_rejection(data.decode(errors="replace"))
                or "a table is NAME or NAMESPACE:NAME, each of letters, digits, _ . - and with no . or - first",
            )
        return data.decode()


def _legal(table: Template) -> Template:
    if table.constant is not None and not TableNames.is_legal(table.constant):
        about = {"table": table.text, "hint": alias_rejection(table.constant.decode(errors="replace")) or ""}
        raise PydanticCustomError("wrong_type", '"{table}" is not the name of a table', about)
    return table


TableTemplate = Annotated[Template, AfterValidator(_legal)]
"""Type of an option: a template of a table's name; a constant one is checked with the configuration."""
