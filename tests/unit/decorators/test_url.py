"""The url decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.url import Url
from ingest.testing.events import event_of, settings_of

NAMES = ("scheme", "user", "host", "port", "path", "query", "fragment")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (b"", {}),
        (b"/", {"path": b"/"}),
        (b"a/b", {"path": b"a/b"}),
        (b"?", {"query": b""}),
        (b"?a?b", {"query": b"a?b"}),
        (b"#", {"fragment": b""}),
        (b"/a?b#c?d#e", {"path": b"/a", "query": b"b", "fragment": b"c?d#e"}),
        (b"HTTP://Example.COM", {"scheme": b"http", "host": b"example.com"}),
        (b"//cdn.example.com/x", {"host": b"cdn.example.com", "path": b"/x"}),
        (b"http://h:80", {"scheme": b"http", "host": b"h", "port": b"80"}),
        (b"http://h:/", {"scheme": b"http", "host": b"h", "path": b"/"}),
        (b"http://h:65535?x", {"scheme": b"http", "host": b"h", "port": b"65535", "query": b"x"}),
        (b"http://[2001:DB8::1]:80/", {"scheme": b"http", "host": b"2001:db8::1", "port": b"80", "path": b"/"}),
        (b"ftp://u:p@h/", {"scheme": b"ftp", "user": b"u", "host": b"h", "path": b"/"}),
        (b"ftp://u@x:p@h/", {"scheme": b"ftp", "user": b"u@x", "host": b"h", "path": b"/"}),
        (b"ftp://:p@h", {"scheme": b"ftp", "host": b"h"}),
        (b"http://h/@", {"scheme": b"http", "host": b"h", "path": b"/@"}),
        (b"file:///etc/hosts", {"scheme": b"file", "path": b"/etc/hosts"}),
        (b"mailto:ann@example.com", {"scheme": b"mailto", "path": b"ann@example.com"}),
        (b"android-app://com.example/", {"scheme": b"android-app", "host": b"com.example", "path": b"/"}),
        ("http://größe.de/ä".encode(), {"scheme": b"http", "host": "größe.de".encode(), "path": "/ä".encode()}),
        (b"/\xff", {"path": b"/\xff"}),
        (b"/%41%zz", {"path": b"/%41%zz"}),
    ],
)
def test_parts_become_attributes(attributes_after, url, expected):
    assert attributes_after(Url, "{}", url) == expected


def test_parts_are_percent_decoded(attributes_after):
    assert attributes_after(Url, "{decode: true, prefix: 'u.'}", b"http://a%40b@h/%ff%zz?%41#%42") == {
        "u.scheme": b"http",
        "u.user": b"a@b",
        "u.host": b"h",
        "u.path": b"/\xff%zz",
        "u.query": b"%41",
        "u.fragment": b"B",
    }


@pytest.mark.parametrize(
    "url",
    [
        b"http://h:65536/",
        b"http://h:a/",
        b"http://h:123456/",
        b"http://h:1:2/",
        b"http://[::1/",
        b"http://[::1]x/",
        b"http://a b/",
        b"/a b",
        b"a\nb",
        b"\x7f",
    ],
)
def test_invalid_url_fails_or_passes(refusal_of, attributes_after, url):
    assert refusal_of(Url, "{}", url) == "bad_url"
    assert attributes_after(Url, "{on_invalid: keep}", url, {"path": "old"}) == {"path": b"old"}


def test_absent_attribute_fails_or_passes(refusal_of, attributes_after):
    assert refusal_of(Url, "{source: u}", b"/") == "no_attribute"
    assert attributes_after(Url, "{source: u, on_invalid: keep}", b"/") == {}


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Url, "{}", b"http://h/", {"path": "x"}, write_once=True) == "attribute_exists"


LETTERS = st.text("abcxyz019-._~%ä", max_size=8).map(str.encode)


@given(
    scheme=st.sampled_from([b"http", b"https", b"a+b"]),
    user=st.none() | LETTERS.filter(bool),
    host=st.sampled_from([b"h", b"www.example.com", b"::1", b"10.0.0.1"]),
    port=st.none() | st.integers(0, 65_535).map(lambda port: b"%d" % port),
    path=LETTERS.map(lambda path: b"/" + path),
    query=st.none() | LETTERS,
    fragment=st.none() | LETTERS,
)
def test_round_trip(scheme, user, host, port, path, query, fragment):
    url = scheme + b"://" + (b"" if user is None else user + b":secret@") + (b"[%b]" % host if b":" in host else host)
    url += b"" if port is None else b":" + port
    url += path + (b"" if query is None else b"?" + query) + (b"" if fragment is None else b"#" + fragment)
    event = event_of(url)
    Url(settings_of(Url.settings_class())).decorate(event)
    parts = zip(NAMES, (scheme, user, host, port, path, query, fragment), strict=True)
    assert event.attributes == {name: part for name, part in parts if part is not None}
