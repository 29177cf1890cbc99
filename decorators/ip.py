"""Set attributes to the class, the canonical form and the network of an IP address."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.notation import name_to_bytes, shown_start
from ingest.decorating.choices import OnInvalid
from ingest.decorating.errors import BadAddressError
from ingest.formats.addresses import IPV4_BYTES, IPV6_BYTES, packed, written

Network = IPv4Network | IPv6Network

_MAPPED = IPv6Network("::ffff:0:0/96")  # RFC 4291, 2.5.5.2

# other addresses are global; of nested ranges the smallest one applies
_CLASSES: dict[str, tuple[str, ...]] = {
    "unspecified": ("0.0.0.0/32", "::/128"),
    "loopback": ("127.0.0.0/8", "::1/128"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    "shared": ("100.64.0.0/10",),
    "link_local": ("169.254.0.0/16", "fe80::/10"),
    "multicast": ("224.0.0.0/4", "ff00::/8"),
    "broadcast": ("255.255.255.255/32",),
    "documentation": ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    "benchmarking": ("198.18.0.0/15", "2001:2::/48"),
    "reserved": ("0.0.0.0/8", "192.0.0.0/24", "240.0.0.0/4", "::/3", "4000::/2", "8000::/1"),
    "global": ("64:ff9b::/96",),
}


def _valid_range(text: str) -> str:
    try:
        ip_network(text)
    except ValueError as error:
        raise PydanticCustomError(
            "wrong_type", '"{text}" is not a range', {"text": text, "hint": _suggestion(text)}
        ) from error
    return text


def _suggestion(text: str) -> str:
    """A suggestion: the range of an address with a prefix length, the usual mistake."""
    try:
        return f"did you mean {ip_network(text, strict=False)}?"
    except ValueError:
        return "write an address or a range, as in 10.0.0.0/8"


class IpSettings(Settings):
    """Options of the ip decorator."""

    other_names: ClassVar[None] = None

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="client")
    class_attribute: str | None = option(
        "Attribute that receives the class of the address.", default=None, example="2hb_net:class"
    )
    canonical_attribute: str | None = option(
        "Attribute that receives the address in canonical form.", default=None, example="2hb_net:ip"
    )
    network_attribute: str | None = option(
        "Attribute that receives the name of the network; needs `networks`. Not set if the address is in none of them.",
        default=None,
        example="2hb_net:site",
    )
    networks: dict[str, list[Annotated[str, AfterValidator(_valid_range)]]] = option(
        "Network names, and the ranges of each; an address in several ranges belongs to the smallest one. A range of "
        "IPv4-mapped addresses, such as ::ffff:10.0.0.0/104, is the IPv4 range.",
        default={},
        example={"office": ["10.1.0.0/16", "fd00:1::/32"], "vpn": ["10.1.7.0/24"]},
    )
    on_invalid: OnInvalid = option(
        "Text that is not an address, or an absent attribute: the event fails (`error`) or passes unchanged (`keep`).",
        default="error",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes that are named."""
        return frozenset(
            name for name in (self.class_attribute, self.canonical_attribute, self.network_attribute) if name
        )

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not (self.class_attribute or self.canonical_attribute or self.network_attribute):
            raise PydanticCustomError(
                "missing", "ip needs one of `class_attribute`, `canonical_attribute` and `network_attribute`"
            )
        if bool(self.networks) is (self.network_attribute is None):
            raise PydanticCustomError("conflict", "`networks` and `network_attribute` go together")
        owners: dict[Network, str] = {}
        for name, network in _ranges(self.networks):
            if owners.setdefault(network, name) != name:
                raise PydanticCustomError(
                    "conflict",
                    '"{range}" is in "{first}" and in "{second}"',
                    {"range": str(network), "first": owners[network], "second": name, "option": "networks"},
                )
        return self


class Ip(Decorator[IpSettings]):
    """
    Set attributes to the class of an IPv4 or IPv6 address, its canonical form, and the name of its network.

    The classes are `private`, `loopback`, `link_local`, `shared` (carrier-grade NAT), `multicast`, `broadcast`,
    `unspecified`, `documentation`, `benchmarking`, `reserved`, and `global` for all others. The canonical form of IPv6
    is in lower case with the longest run of zeros omitted; an IPv4-mapped address (`::ffff:10.0.0.1`) becomes the IPv4
    address, and a zone (`%eth0`) is removed. The time of a look-up hardly grows with the number of networks. For
    countries and cities, use `geoip`; for single addresses, `lookup`.

    Source: own design; the classes are IANA's registries of special-purpose addresses (RFC 6890), the form is that of
    RFC 5952.
    """

    kind = "ip"
    examples = (
        Example(
            "class and canonical form",
            settings="{source: client, class_attribute: '2hb_net:class', canonical_attribute: '2hb_net:ip'}",
            attributes={"client": "FE80:0:0:0::A%eth0"},
            after={"2hb_net:class": "link_local", "2hb_net:ip": "fe80::a"},
        ),
        Example(
            "the smallest network an address is in",
            settings="{network_attribute: site, networks: {office: [10.1.0.0/16, 'fd00:1::/32'], vpn: [10.1.7.0/24]}}",
            body="::ffff:10.1.7.20",
            after={"site": "vpn"},
        ),
        Example(
            "an address in none of the networks",
            settings="{network_attribute: site, class_attribute: class, networks: {office: [10.1.0.0/16]}}",
            body="8.8.8.8",
            after={"class": "global"},
        ),
        Example("not an address", settings="{class_attribute: class}", body="10.0.0.256", error="bad_address"),
        Example(
            "not an address, with `on_invalid: keep`", settings="{class_attribute: class, on_invalid: keep}", body="-"
        ),
        Example("an absent attribute", settings="{source: client, class_attribute: class}", error="no_attribute"),
    )

    def __init__(self, settings: IpSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._class_attribute = settings.class_attribute
        self._canonical_attribute = settings.canonical_attribute
        self._network_attribute = settings.network_attribute
        self._is_strict = settings.on_invalid is OnInvalid.ERROR
        self._classes = _Ranges(_ranges(_CLASSES), b"global")
        self._networks = _Ranges(_ranges(settings.networks), None)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        address = None if text is None else packed(text)
        if address is None:
            if self._is_strict:
                text = event.text_of(self._source, "to read an address from")
                raise BadAddressError(f"{shown_start(text)} is not an IP address")
            return True
        found: dict[str, bytes] = {}
        if self._class_attribute is not None:
            found[self._class_attribute] = self._classes.of(address) or b""
        if self._canonical_attribute is not None:
            found[self._canonical_attribute] = written(address)
        if self._network_attribute is not None:
            name = self._networks.of(address)
            if name is not None:
                found[self._network_attribute] = name
        event.update(found)
        return True


class _Ranges:
    """
    Names of address ranges, which may be nested, and a default for addresses in none of them.

    They are stored as the addresses at which the name changes, so a look-up is a bisection.
    """

    def __init__(self, ranges: Iterable[tuple[str, Network]], default: bytes | None) -> None:
        named = [(network, name_to_bytes(name)) for name, network in ranges]
        self._v4 = _points([item for item in named if item[0].version == 4], IPV4_BYTES, default)  # noqa: PLR2004
        self._v6 = _points([item for item in named if item[0].version == 6], IPV6_BYTES, default)  # noqa: PLR2004

    def of(self, address: bytes) -> bytes | None:
        """The name for an address of 4 or 16 bytes."""
        starts, names = self._v4 if len(address) == IPV4_BYTES else self._v6
        return names[bisect_right(starts, address) - 1]


def _points(
    named: list[tuple[Network, bytes]], size: int, default: bytes | None
) -> tuple[list[bytes], list[bytes | None]]:
    """The addresses at which the name changes, in order, and the name from each on."""
    points: dict[int, bytes | None] = {0: default}
    open_ranges: list[tuple[int, bytes | None]] = [(1 << 8 * size, default)]  # (end, name) of the ranges that are open

    def close_before(start: int) -> None:
        while open_ranges[-1][0] <= start:
            end, _ = open_ranges.pop()
            points[end] = open_ranges[-1][1]

    for network, name in sorted(named, key=lambda item: (int(item[0].network_address), item[0].prefixlen)):
        start = int(network.network_address)
        close_before(start)
        points[start] = name
        open_ranges.append((start + network.num_addresses, name))
    close_before((1 << 8 * size) - 1)
    starts = sorted(points)
    return [start.to_bytes(size, "big") for start in starts], [points[start] for start in starts]


def _ranges(networks: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, Network]]:
    return ((name, _unmapped(ip_network(text))) for name, ranges in networks.items() for text in ranges)


def _unmapped(network: Network) -> Network:
    """The IPv4 network of a range of IPv4-mapped addresses, since such addresses are read as IPv4."""
    if isinstance(network, IPv4Network) or not network.subnet_of(_MAPPED):
        return network
    address = network.network_address.packed[-IPV4_BYTES:]
    return IPv4Network((address, network.prefixlen - _MAPPED.prefixlen))
