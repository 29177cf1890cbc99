"""
Writes small databases in MaxMind's format: https://maxmind.github.io/MaxMind-DB/.

A database is a binary tree over the bits of addresses with leaves that point to values, the values, and a metadata map.
"""

import struct
from collections.abc import Mapping
from ipaddress import ip_network

_SEPARATOR = bytes(16)
_MARKER = b"\xab\xcd\xefMaxMind.com"
_STRING, _DOUBLE, _BYTES, _UINT16, _UINT32, _MAP, _INT32, _UINT64, _ARRAY, _BOOL = 2, 3, 4, 5, 6, 7, 8, 9, 11, 14
_EXTENDED = 7  # types above this one need a second byte


class Uint16(int):
    """A two-byte number of the metadata."""


class Uint64(int):
    """An eight-byte number of the metadata."""


def database(networks: Mapping[str, object], *, ip_version: int = 6, kind: str = "Test") -> bytes:
    """A database with a value for each network; networks must not overlap."""
    data = b""
    nodes: list[list[int | None]] = [[None, None]]
    leaves: dict[tuple[int, int], int] = {}
    for text, value in networks.items():
        network = ip_network(text)
        bits = f"{int(network.network_address):0{network.max_prefixlen}b}"[: network.prefixlen]
        if ip_version == 6 and network.version == 4:
            bits = "0" * 96 + bits
        node = 0
        for bit in map(int, bits[:-1]):
            following = nodes[node][bit]
            if following is None:
                following = nodes[node][bit] = len(nodes)
                nodes.append([None, None])
            node = following
        leaves[node, int(bits[-1])] = len(data)
        data += _encoded(value)
    count = len(nodes)
    tree = b""
    for number, node in enumerate(nodes):
        for side in (0, 1):
            following = node[side]
            record = count if following is None else following
            if (number, side) in leaves:
                record = count + len(_SEPARATOR) + leaves[number, side]
            tree += record.to_bytes(3, "big")
    metadata = {
        "node_count": count,
        "record_size": Uint16(24),
        "ip_version": Uint16(ip_version),
        "database_type": kind,
        "languages": ["en"],
        "binary_format_major_version": Uint16(2),
        "binary_format_minor_version": Uint16(0),
        "build_epoch": Uint64(1_700_000_000),
        "description": {"en": "made for a test"},
    }
    return tree + _SEPARATOR + data + _MARKER + _encoded(metadata)


def _encoded(value: object) -> bytes:  # noqa: PLR0911 - one return for each type
    match value:
        case bool():
            return _control(_BOOL, int(value))
        case Uint16():
            return _number(_UINT16, value)
        case Uint64():
            return _number(_UINT64, value)
        case int() if value < 0:
            return _control(_INT32, 4) + struct.pack(">i", value)
        case int():
            return _number(_UINT32 if value < 2**32 else _UINT64, value)
        case float():
            return _control(_DOUBLE, 8) + struct.pack(">d", value)
        case str():
            return _control(_STRING, len(value.encode())) + value.encode()
        case bytes():
            return _control(_BYTES, len(value)) + value
        case list():
            return _control(_ARRAY, len(value)) + b"".join(map(_encoded, value))
        case dict():
            pairs = (_encoded(name) + _encoded(member) for name, member in value.items())
            return _control(_MAP, len(value)) + b"".join(pairs)
    raise TypeError(f"{value!r} is not a type of the format")


def _number(kind: int, value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return _control(kind, size) + int(value).to_bytes(size, "big")


def _control(kind: int, size: int) -> bytes:
    first, more = (size, b"") if size < 29 else (29, bytes([size - 29]))
    if kind > _EXTENDED:
        return bytes([first, kind - _EXTENDED]) + more
    return bytes([kind << 5 | first]) + more
