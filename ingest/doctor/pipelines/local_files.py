"""Warnings about certificates, keys and keytabs that do not exist on this machine."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ingest.api.files import reason_of, with_folder
from ingest.config.model import Configuration
from ingest.config.problems import Kind, Problem, Severity
from ingest.masks import MASK

_OPTIONS: Mapping[str, frozenset[str]] = {
    "tls": frozenset({"ca_file", "key_file", "certificate", "key", "client_ca"}),
    "sasl": frozenset({"keytab"}),
    "kerberos": frozenset({"keytab"}),
}
"""Section -> its options that name a file, in all stores, sources, sinks and the HTTP endpoint."""


def warnings_of(configuration: Configuration) -> Iterator[Problem]:
    """
    Warnings about files for TLS, SASL and Kerberos that this process cannot read.

    They are no errors: the service may run as another user or on another machine.
    """
    for path, place in configuration.origins.items():
        if len(path) < 2 or path[-1] not in _OPTIONS.get(str(path[-2]), ()):  # noqa: PLR2004 - section and option
            continue
        name = _value(configuration.effective, path)
        if not isinstance(name, str) or name == MASK:
            continue
        try:
            with Path(name).open("rb"):
                continue
        except (OSError, ValueError) as error:
            message = f'cannot read "{name}" on this machine: {reason_of(error)}'
        hint = with_folder("correct the path, or create the file before the service starts", Path(name))
        yield Problem(Kind.UNKNOWN_REFERENCE, place, message, hint, Severity.WARNING)


def _value(content: Any, path: tuple[str | int, ...]) -> object:
    for key in path:
        content = content[key]
    return content
