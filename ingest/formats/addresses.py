"""IP addresses as the bytes they stand for, and those of this machine."""

from ipaddress import ip_address
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

IPV4_BYTES = 4
IPV6_BYTES = 16
_MAPPED = b"\x00" * 10 + b"\xff\xff"  # what stands before an IPv4 address in an IPv6 one


def packed(text: bytes) -> bytes | None:
    """
    The 4 or 16 bytes of an address, None for text that is none.

    An IPv4 address in IPv6 (`::ffff:10.0.0.1`, what a socket for both sorts tells) is the IPv4 address. The zone after
    a percent sign means something on one machine only and is left out.

    Source: RFC 4291, 2.2 and 2.5.5.2; RFC 4007, 11.
    """
    family = AF_INET
    if b":" in text:
        family = AF_INET6
        text, percent, zone = text.partition(b"%")
        if percent and not zone:
            return None
    try:
        address = inet_pton(family, text.decode("ascii"))
    except (OSError, ValueError):
        return None
    return address.removeprefix(_MAPPED)


def written(address: bytes) -> bytes:
    """
    The one text of an address that was packed.

    Source: RFC 5952.
    """
    return inet_ntop(AF_INET if len(address) == IPV4_BYTES else AF_INET6, address).encode("ascii")


def is_this_machine(host: str) -> bool:
    """Whether a host name or address can only be this machine; names are not looked up."""
    host = host.strip("[]").lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
