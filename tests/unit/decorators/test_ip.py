"""The ip decorator."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.ip import Ip, IpSettings
from ingest.testing.events import event_of


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("0.0.0.0", "unspecified"),  # noqa: S104 - no address to listen on
        ("0.0.0.1", "reserved"), ("1.0.0.0", "global"), ("9.255.255.255", "global"),
        ("10.0.0.0", "private"), ("10.255.255.255", "private"), ("11.0.0.0", "global"), ("100.64.0.1", "shared"),
        ("100.128.0.0", "global"), ("127.9.9.9", "loopback"), ("169.254.1.1", "link_local"),
        ("172.15.255.255", "global"), ("172.16.0.0", "private"), ("172.31.255.255", "private"),
        ("172.32.0.0", "global"), ("192.0.0.8", "reserved"), ("192.0.2.1", "documentation"),
        ("192.168.0.1", "private"), ("192.169.0.0", "global"), ("198.19.255.255", "benchmarking"),
        ("203.0.113.9", "documentation"), ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"), ("255.255.255.254", "reserved"), ("255.255.255.255", "broadcast"),
        ("::", "unspecified"), ("::1", "loopback"), ("::2", "reserved"), ("::ffff:192.168.1.1", "private"),
        ("64:ff9b::808:808", "global"), ("2001:db8::1", "documentation"), ("2001:2::1", "benchmarking"),
        ("2606:4700::1111", "global"), ("3fff::1", "documentation"), ("4000::", "reserved"), ("fbff::", "reserved"),
        ("fc00::1", "private"), ("fdff::1", "private"), ("fe80::1%eth0", "link_local"), ("fec0::1", "reserved"),
        ("ff02::1", "multicast"), ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
    ],
)  # fmt: skip
def test_address_has_its_class(attributes_after, address, expected):
    assert attributes_after(Ip, "{class_attribute: c}", address.encode()) == {"c": expected.encode()}


NETWORKS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.one_of(
            st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 32), st.just(4)),
            st.tuples(st.integers(0, 2**128 - 1), st.integers(0, 128), st.just(6)),
            # near each other, so that they lie in each other and touch
            st.tuples(st.integers(0, 255), st.integers(24, 32), st.just(4)),
            st.tuples(st.integers(2**128 - 256, 2**128 - 1), st.integers(118, 128), st.just(6)),
        ),
    ),
    min_size=1,
    max_size=12,
)


@given(NETWORKS, st.lists(st.integers(-300, 300), max_size=8))
def test_smallest_network_is_used(drawn, steps):
    owners = {}
    for name, (number, length, version) in drawn:
        bits = 32 if version == 4 else 128
        address = ip_address(number.to_bytes(bits // 8, "big"))
        owners.setdefault(ip_network((address, length), strict=False), name)
    networks = {}
    for network, name in owners.items():
        networks.setdefault(name, []).append(str(network))
    decorator = Ip(IpSettings(network_attribute="n", networks=networks))
    for network in owners:
        for step in (0, -1, network.num_addresses - 1, network.num_addresses, *steps):
            number = int(network.network_address) + step
            if not 0 <= number < 2**network.max_prefixlen:
                continue
            address = ip_address(number.to_bytes(network.max_prefixlen // 8, "big"))
            if address.version == 6 and address.ipv4_mapped is not None:
                continue
            around = [(other.prefixlen, name) for other, name in owners.items() if address in other]
            event = event_of(str(address))
            decorator.decorate(event)
            assert event.attributes == ({"n": max(around)[1].encode()} if around else {})


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("::ffff:10.0.0.0/104", {"n": b"x"}),  # RFC 4291, 2.5.5.2
        ("::ffff:10.12.1.240", {"n": b"x"}),
        ("::ffff:0:0/96", {"n": b"x"}),
        ("::ffff:11.0.0.0/104", {}),
        ("::/0", {}),  # an IPv4 address is in no IPv6 network
        ("::10.0.0.0/104", {}),  # IPv4-compatible, which is not mapped
    ],
)
def test_range_of_mapped_addresses_is_an_ipv4_range(attributes_after, network, expected):
    settings = f"{{network_attribute: n, networks: {{x: ['{network}']}}}}"
    for address in (b"10.12.1.240", b"::ffff:10.12.1.240"):
        assert attributes_after(Ip, settings, address) == expected


def test_all_at_once(attributes_after):
    settings = "{source: s, class_attribute: c, canonical_attribute: i, network_attribute: n, networks: {x: ['::/0']}}"
    assert attributes_after(Ip, settings, b"", {"s": "FF02::0:1"}) == {
        "s": b"FF02::0:1",
        "c": b"multicast",
        "i": b"ff02::1",
        "n": b"x",
    }


def test_not_an_address(refusal_of, attributes_after):
    assert refusal_of(Ip, "{class_attribute: c}", b"localhost") == "bad_address"
    assert refusal_of(Ip, "{source: s, class_attribute: c}") == "no_attribute"
    assert attributes_after(Ip, "{class_attribute: c, on_invalid: keep}", b"\xff") == {}
    assert attributes_after(Ip, "{source: s, class_attribute: c, on_invalid: keep}", b"::1") == {}


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert (
        refusal_of(Ip, "{class_attribute: c, canonical_attribute: i}", b"::1", {"i": ""}, write_once=True)
        == "attribute_exists"
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{network_attribute: n}", [("conflict", ())]),
        ("{class_attribute: c, networks: {a: ['::/8']}}", [("conflict", ())]),
        ("{network_attribute: n, networks: {a: [10.0.0.1/8]}}", [("wrong_type", ("networks", "a", 0))]),
        ("{network_attribute: n, networks: {a: ['::/8', web]}}", [("wrong_type", ("networks", "a", 1))]),
        ("{network_attribute: n, networks: {a: [10.0.0.0/8], b: [10.0.0.0/8]}}", [("conflict", ())]),
        ("{network_attribute: n, networks: {a: [10.0.0.0/8], b: ['::ffff:a00:0/104']}}", [("conflict", ())]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Ip, settings) == expected
