"""Which table an event goes to."""

import re

from ingest.api import Event, MappingError
from ingest.api.notation import name_from_bytes
from ingest.expressions import Template

_LEGAL = re.compile(rb"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*:)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MOST_NAMES = 1_000  # remembered names; they come from the data, so there must be an end


class TableNames:
    """
    Names of tables made by a template.

    Attributes:
        constant: the name when it is the same for all events.
    """

    def __init__(self, template: Template) -> None:
        self._template = template
        self._known: dict[bytes, str] = {}
        self.constant = None if template.constant is None else template.constant.decode()

    @staticmethod
    def is_legal(name: bytes) -> bool:
        """Whether HBase allows a table of this name, with a namespace or without."""
        return _LEGAL.fullmatch(name) is not None

    def of(self, event: Event) -> str:
        """
        The table of an event.

        Raises:
            MappingError: the template does not give the name of a table.
        """
        data = self._template.render(event)
        name = self._known.get(data)
        if name is None:
            if not self.is_legal(data):
                raise MappingError(
                    f'"{self._template.text}" gives {name_from_bytes(data)!r}, which is no name of a table',
                    code="bad_table_name",
                )
            if len(self._known) >= _MOST_NAMES:
                self._known.clear()
            name = self._known[data] = data.decode()
        return name
