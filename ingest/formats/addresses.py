"""IP addresses as bytes, and the check for addresses of this machine."""

from ipaddress import ip_address
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

IPV4_BYTES = 4
IPV6_BYTES = 16
_MAX_PORT = 65_535
_MAPPED = b"\x00" * 10 + b"\xff\xff"  # prefix of an IPv4-mapped IPv6 address


def packed(text: bytes) -> bytes | None:
    """
    The 4 or 16 bytes of an address, None for text that is not one.

    An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`, as dual-stack sockets report it) becomes the IPv4 address. The zone
    after a percent sign is removed: it is valid only on one machine.

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
    The canonical text of a packed address.

    Source: RFC 5952.
    """
    return inet_ntop(AF_INET if len(address) == IPV4_BYTES else AF_INET6, address).encode("ascii")


def host_and_port(text: str) -> tuple[str, int]:
    """
    Host and port of `host:port`; an IPv6 address is in brackets, which the host is returned without.

    Raises:
        ValueError: the text has another form, or no host can have this name.
    """
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("an IPv6 address needs brackets")
    if not host or not (port.isascii() and port.isdecimal() and int(port) <= _MAX_PORT):
        raise ValueError("it has no host, or no port")
    host.encode("idna")  # as the system does; UnicodeError is a ValueError
    return host, int(port)


def is_this_machine(host: str) -> bool:
    """Whether a host is `localhost` or a loopback address; names are not resolved."""
    host = host.strip("[]").lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
