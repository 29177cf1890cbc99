"""Commands for the hbase shell, for what a client cannot do."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ingest.api import FamilySpec, TableSpec

_NOT_PLAIN = re.compile(rb"[^ -~]|['\"\\#]")  # characters that the shell, which is Ruby, would interpret


def shell_create(spec: TableSpec) -> str:
    """The hbase shell's command that creates the table."""
    families = (_shell_family(family, spec.attributes_of(family.name)) for family in spec.families)
    parts = [_quoted(spec.name.encode()), *families]
    if spec.splits:
        parts.append(f"SPLITS => [{', '.join(_quoted(split) for split in spec.splits)}]")
    return f"create {', '.join(parts)}"


def shell_alter(table: str, families: Sequence[FamilySpec]) -> str:
    """The hbase shell's command that adds families."""
    return f"alter {', '.join([_quoted(table.encode()), *(_shell_family(family) for family in families)])}"


def shell_change(table: str, family: FamilySpec) -> str:
    """The hbase shell's command that alters a family; attributes that it does not name stay unchanged."""
    return f"alter {_quoted(table.encode())}, {_shell_family(family, forever='FOREVER')}"


def shell_attributes(table: str, family: bytes, attributes: Mapping[str, str]) -> str:
    """The hbase shell's command that sets attributes of a family; others stay unchanged."""
    return f"alter {_quoted(table.encode())}, {{{', '.join([f'NAME => {_quoted(family)}', *_named(attributes)])}}}"


def _named(attributes: Mapping[str, str]) -> list[str]:
    return [f"{name} => {_quoted(value.encode())}" for name, value in attributes.items()]


def _shell_family(
    family: FamilySpec, attributes: Mapping[str, str] = MappingProxyType({}), *, forever: str | None = None
) -> str:
    """
    A family in the syntax of the shell.

    Args:
        family: its options.
        attributes: besides the options.
        forever: TTL of cells that never expire; None omits it, since it is the default of a new family.
    """
    parts = [f"NAME => {_quoted(family.name)}", f"VERSIONS => {family.versions}"]
    if family.ttl_s is not None:
        parts.append(f"TTL => {family.ttl_s}")
    elif forever is not None:
        parts.append(f"TTL => '{forever}'")
    parts += [f"COMPRESSION => '{family.compression.upper()}'", f"BLOOMFILTER => '{family.bloom.upper()}'"]
    return f"{{{', '.join(parts + _named(attributes))}}}"


def _quoted(name: bytes) -> str:
    """A name in the syntax of the shell: in double quotes with escapes if a byte is not plain."""
    if not _NOT_PLAIN.search(name):
        return f"'{name.decode('ascii')}'"
    escaped = _NOT_PLAIN.sub(lambda found: b"\\x%02X" % ord(found[0]), name)
    return f'"{escaped.decode("ascii")}"'
