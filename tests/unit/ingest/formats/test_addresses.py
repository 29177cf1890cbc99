"""IP addresses as bytes, and addresses to listen on."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats.addresses import host_and_port, is_this_machine, packed, written


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (b"10.0.0.1", b"10.0.0.1"),
        (b"0.0.0.0", b"0.0.0.0"),
        (b"::", b"::"),
        (b"2001:DB8:0:0:1:0:0:1", b"2001:db8::1:0:0:1"),
        (b"2001:db8::0001", b"2001:db8::1"),
        (b"fe80::1%eth0", b"fe80::1"),
        (b"::ffff:10.0.0.1", b"10.0.0.1"),
        (b"::FFFF:0a00:1", b"10.0.0.1"),
    ],
)
def test_address_has_one_canonical_text(text, canonical):
    address = packed(text)
    assert address is not None
    assert written(address) == canonical


@pytest.mark.parametrize(
    "text",
    [
        b"", b"1", b"10.0.0", b"10.0.0.256", b"10.0.0.1.2", b"010.0.0.1", b"0x7f.0.0.1", b" 10.0.0.1", b"10.0.0.1\n",
        b"10.0.0.1:80", b"10.0.0.1%eth0", b"10.0.0.0/8", b":", b":::", b"1::2::3", b"12345::", b"[::1]", b"fe80::1%",
        b"\xff", b"10.0.0.1\x00", b"1:2:3:4:5:6:7:8:9", "\u0661\u0660.0.0.1".encode(),
    ],
)  # fmt: skip
def test_invalid_address_is_not_packed(text):
    assert packed(text) is None


@given(st.ip_addresses(v=4))
def test_ipv4_agrees_with_python(address: IPv4Address):
    assert packed(str(address).encode()) == address.packed
    assert packed(f"::ffff:{address}".encode()) == address.packed
    assert written(address.packed) == str(address).encode()


@given(st.ip_addresses(v=6))
def test_ipv6_agrees_with_python(address: IPv6Address):
    expected = address.packed if address.ipv4_mapped is None else address.ipv4_mapped.packed
    assert packed(str(address).encode()) == packed(address.exploded.upper().encode()) == expected
    assert ip_address(written(expected).decode()).packed == expected


@given(st.binary(max_size=20) | st.text(":.%0123456789abf", max_size=20).map(str.encode))
def test_any_text_agrees_with_python(text):
    address = packed(text)
    if address is not None:
        known = ip_address(text.decode().partition("%")[0])
        mapped = known.ipv4_mapped if isinstance(known, IPv6Address) else None
        assert address == (mapped or known).packed


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"])
def test_names_of_this_machine_are_recognised(host):
    assert is_this_machine(host)


@pytest.mark.parametrize("host", ["kafka", "0.0.0.1", "::", "10.0.0.1", "localhost.example.org", "1270.0.0.1", ""])
def test_names_of_other_machines_are_not_of_this_one(host):
    assert not is_this_machine(host)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:9464", ("::1", 9464)),
        ("10.0.0.1:65535", ("10.0.0.1", 65535)),
    ],
)
def test_host_and_port(text, expected):
    assert host_and_port(text) == expected


@pytest.mark.parametrize(
    "text", ["", "9464", ":9464", "h:", "h:x", "h:65536", "::1:9464", "h:-1", "h:٣", "a..b:80", f"{'h' * 70}:80"]
)
def test_other_text_is_no_host_and_port(text):
    with pytest.raises(ValueError, match=r"."):
        host_and_port(text)
