"""The query decorator."""

from urllib.parse import quote_from_bytes, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.query import Query
from ingest.api.notation import name_from_bytes
from ingest.testing.events import event_of, settings_of
from tests.support.memos import memo_of


@pytest.mark.parametrize(
    ("settings", "query", "expected"),
    [
        ("{}", b"", {}),
        ("{}", b"?", {}),
        ("{}", b"&&=&=x&", {}),
        ("{}", b"?a=1&b=2", {"a": b"1", "b": b"2"}),
        ("{}", b"??a=1", {"?a": b"1"}),
        ("{}", b"a", {"a": b""}),
        ("{}", b"a=b=c", {"a": b"b=c"}),
        ("{}", b"a+b=c+d", {"a b": b"c d"}),
        ("{plus_is_blank: false}", b"a+b=c+d", {"a+b": b"c+d"}),
        ("{}", b"%61=%2B%26%3D", {"a": b"+&="}),
        ("{}", b"%61=1&a=2", {"a": b"2"}),
        ("{}", b"a=%ff&%fe=\xfd", {"a": b"\xff", "\udcfe": b"\xfd"}),
        ("{}", b"a=%&b=%4&c=%zz&%=1", {"a": b"%", "b": b"%4", "c": b"%zz", "%": b"1"}),
        ("{}", b"a=1&a=2&a", {"a": b""}),
        ("{on_repeated: first}", b"a=1&a=2&a", {"a": b"1"}),
        ("{on_repeated: join}", b"a=1&b=x&a=2&a", {"a": b"1,2,", "b": b"x"}),
        ("{on_repeated: join, separator: ''}", b"a=1&a=2", {"a": b"12"}),
        ("{prefix: '2hb_q:', only: [a b, ö]}", b"a+b=1&c=2&%c3%b6=3", {"2hb_q:a b": b"1", "2hb_q:ö": b"3"}),
    ],
)
def test_names_and_values(attributes_after, settings, query, expected):
    assert attributes_after(Query, settings, query) == expected


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Query, "{source: query}", b"a=1") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Query, "{}", b"a=1&b=2", {"b": "x"}, write_once=True) == "attribute_exists"


def test_many_values_are_joined_in_linear_time(attributes_after):
    """With repeated concatenation this would take minutes."""
    separator = "-" * 1_000
    after = attributes_after(Query, f"{{on_repeated: join, separator: '{separator}'}}", b"a=1&" * 50_000)
    assert after["a"] == separator.encode().join([b"1"] * 50_000)


def test_cached_names_are_bounded():
    decorator = Query(settings_of(Query.settings_class()))
    for number in range(20_000):
        event = event_of(f"n{number}=x")
        decorator.decorate(event)
        assert event.attributes == {f"n{number}": b"x"}
    assert 0 < len(memo_of(decorator).known) <= 10_000


@given(st.dictionaries(st.binary(min_size=1, max_size=6), st.binary(max_size=8), max_size=6), st.booleans())
def test_round_trip(pairs, as_form):
    written = quote_plus if as_form else quote_from_bytes
    event = event_of("&".join(f"{written(key)}={written(value)}" for key, value in pairs.items()))
    Query(settings_of(Query.settings_class())).decorate(event)
    assert event.attributes == {name_from_bytes(key): value for key, value in pairs.items()}
