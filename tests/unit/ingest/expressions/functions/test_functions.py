"""Functions: their documented examples, and the places of errors."""

import hashlib
import hmac
import json
import uuid
import zlib
from fractions import Fraction
from math import floor, trunc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import DecorateError, Event, ExpressionError, Origin
from ingest.decorating.choices import OnMissing
from ingest.expressions import FUNCTIONS, ExpressionSyntaxError, Function, FunctionExample, Template, functions, quoted

EXAMPLES = [
    pytest.param(example, id=f"{function.name}-{number}")
    for function in FUNCTIONS.values()
    for number, example in enumerate(function.examples)
]


def rendered(text: str, zone: str = "UTC", **attributes: bytes) -> bytes:
    return Template.parse(text, zone).render(Event(b"", attributes))


@pytest.mark.parametrize("example", EXAMPLES)
def test_documented_example_has_its_result(example: FunctionExample) -> None:
    template = Template.parse(example.template)
    if example.error is not None:
        with pytest.raises(ExpressionError) as raised:
            template.render(example.input())
        assert raised.value.code == example.error
    else:
        expected = example.result.encode() if isinstance(example.result, str) else example.result
        assert template.render(example.input()) == expected


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
class TestDeclaration:
    def test_function_is_documented(self, function: Function) -> None:
        assert function.doc.endswith(".")
        assert all(parameter.doc for parameter in function.parameters)
        assert len(function.examples) >= 2
        assert all(f"{function.name}(" in example.template for example in function.examples)

    def test_optional_parameters_are_first_or_last(self, function: Function) -> None:
        required = [parameter.required for parameter in function.parameters]
        if required and function.parameters[0].kind is functions.Kind.TIME:
            required = required[1:]
        assert required == sorted(required, reverse=True)

    def test_only_the_last_parameter_is_repeated(self, function: Function) -> None:
        assert not any(parameter.repeated for parameter in function.parameters[:-1])


LIMITED = [
    function
    for function in FUNCTIONS.values()
    if not any(one.repeated or one.kind is functions.Kind.CONDITION for one in function.parameters)
]
DEMANDING = [function for function in FUNCTIONS.values() if any(one.required for one in function.parameters)]


@pytest.mark.parametrize("function", LIMITED, ids=lambda function: function.name)
def test_too_many_arguments_are_rejected(function: Function) -> None:
    arguments = ", ".join(["x"] * (len(function.parameters) + 1))
    with pytest.raises(ExpressionSyntaxError, match=r"takes .* not") as raised:
        Template.parse(f"%{{{function.name}({arguments})}}")
    assert raised.value.column == 3


@pytest.mark.parametrize("function", DEMANDING, ids=lambda function: function.name)
def test_too_few_arguments_are_rejected(function: Function) -> None:
    with pytest.raises(ExpressionSyntaxError, match=r"takes .* not 0"):
        Template.parse(f"%{{{function.name}()}}")


def test_names_of_other_tools_map_to_functions() -> None:
    assert set(functions.OURS.values()) <= set(FUNCTIONS)
    assert not set(functions.OURS) & set(FUNCTIONS)


def test_functions_are_sorted_by_name() -> None:
    assert list(FUNCTIONS) == sorted(FUNCTIONS)


def test_signature_shows_optional_parameters() -> None:
    assert [FUNCTIONS[name].signature for name in ("date", "add", "uuid", "substring")] == [
        "date([time], format, [zone])",
        "add(number, other, …)",
        "uuid([salt])",
        "substring(text, start, [length])",
    ]


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("%{lowr(a)}", 3, 'did you mean "lower"'),
        ("%{zzz(a)}", 3, 'unknown function "zzz"'),
        ("%{nanos()}", 3, 'unknown function "nanos"; this value has no parentheses: %{nanos}'),
        ("%{upper(lowr(a))}", 9, 'did you mean "lower"'),
        ("%{substring(a, 'x')}", 16, "must be a whole number"),
        ("%{substring(a, 1.5)}", 16, "must be a whole number"),
        ("%{substring(a, b)}", 16, "must be a whole number"),
        ("%{substring(a, 0, -1)}", 19, "must be 0 to"),
        ("%{substring(a, 99999999999)}", 16, "must be -2147483648 to 2147483647"),
        ("%{substring(a", 14, 'expected "," or ")" after an argument of substring, found the end'),
        ("%{substring(a, 1}", 17, 'expected "," or ")" after an argument of substring'),
        ("%{substring(a 1)}", 15, 'expected "," or ")"'),
        ("%{substring(a,, 1)}", 15, "expected an argument"),
        ("%{substring('a, 1)}", 13, "never closed"),
        ("%{1st(a)}", 3, "cannot be the name of a function"),
        ("%{coalesce(a, b)}", 3, 'unknown function "coalesce"; did you mean "default"'),
        ("%{len(a)}", 3, 'did you mean "length"'),
        ("%{substr(a, 1)}", 3, 'did you mean "substring"'),
        ("%{starts_with(a, 'x')}", 3, "in a condition write %{name} starts_with 'text'"),
        ("%{encode(a, 'url')}", 13, "is not one of hex, base64, base64url, percent"),
        ("%{encode(a, b)}", 13, "must be one of the listed words"),
        ("%{hmac_sha256(a, '')}", 18, "must not be empty"),
        ("%{hmac_sha256(a, key)}", 18, "must be quoted text"),
        ("%{piece(a, ':', 1.0)}", 17, "must be a whole number"),
        ("%{bucket(a, 16)}", 3, 'unknown function "bucket"; to distribute row keys over N buckets, declare the table'),
        ("%{pad_left(a, 100000)}", 15, "must be 0 to 4096"),
        ("%{pad_left(a, 5, '')}", 18, "must not be empty"),
        ("%{replace(a, '', 'b')}", 14, "must not be empty"),
        ("%{replace(a, b, 'c')}", 14, "must be quoted text"),
        ("%{piece(a, '', 0)}", 12, "must not be empty"),
        ("%{md5(a, 'hexx')}", 10, 'did you mean "hex"'),
        ("%{truncate_time('fortnight')}", 17, "is not one of"),
        ("%{extract(a, 'b(')}", 16, "bad pattern"),
        ("%{extract(a, 'b', 1)}", 3, "no group 1"),
        ("%{replace_pattern(a, '(', 'b')}", 23, "bad pattern"),
        ("%{date('%Q')}", 9, 'unknown tag "%Q"'),
        ("%{date('%Y %{host}')}", 12, "date letters"),
        ("%{date('%Y', 'Europe/Berln')}", 14, 'did you mean "Europe/Berlin"'),
        ("%{date('%Y', 5)}", 14, "must be a quoted time zone"),
        ("%{date(5)}", 3, 'needs "format"'),
        ("%{iso('Nowhere')}", 7, "is not a time zone"),
        ("%{iso('2hb_d:at')}", 7, "Europe/Berlin; an attribute of that name is written %{'2hb_d:at'}"),
        ("%{epoch_s('x')}", 11, "must be a time"),
        ("%{add('x', 1)}", 7, "must be a number"),
        ("%{add(a, '1')}", 10, "must be a number"),
        ("%{add(1, lower('x'))}", 10, "must be a number"),
        ("%{div(1, 0)}", 3, "division by zero"),
        ("%{decode('zz', 'hex')}", 3, "not hex"),
        ("%{extract('a', 'b')}", 3, "never has a value"),
        ("%{uuid(x)}", 8, "must be quoted text"),
    ],
)
def test_misuse_is_an_error_with_the_column(text: str, column: int, says: str) -> None:
    with pytest.raises(ExpressionSyntaxError) as raised:
        Template.parse(text)
    assert raised.value.column == column
    assert says in raised.value.message


class TestText:
    @given(st.binary())
    def test_bytes_that_are_not_utf8_are_kept(self, value: bytes) -> None:
        assert rendered("%{concat(substring(x, 0, 3), substring(x, 3))}", x=value) == value
        assert rendered("%{substring(x, -99999)}", x=value) == value
        assert rendered("%{pad_left(x, 0)}%{pad_right(x, 0)}", x=value) == value * 2
        assert rendered("%{decode(encode(x, 'base64'), 'base64')}", x=value) == value
        assert rendered("%{decode(encode(x, 'base64url'), 'base64url')}", x=value) == value
        assert rendered("%{decode(encode(x, 'hex'), 'hex')}", x=value) == value
        assert rendered("%{decode(encode(x, 'percent'), 'percent')}", x=value) == value

    @given(st.text())
    def test_works_on_characters(self, text: str) -> None:
        value = text.encode()
        assert rendered("%{lower(x)}", x=value) == text.lower().encode()
        assert rendered("%{upper(x)}", x=value) == text.upper().encode()
        assert rendered("%{reverse(x)}", x=value) == text[::-1].encode()
        assert rendered("%{length(x)}", x=value) == str(len(text)).encode()
        assert rendered("%{substring(x, 1, 2)}", x=value) == text[1:3].encode()
        assert rendered("%{substring(x, -3, 2)}", x=value) == text[-3:][:2].encode()
        assert rendered("%{pad_left(x, 5, 'é')}", x=value) == text.rjust(5, "é").encode()

    @given(st.text(alphabet="ab:", max_size=8), st.integers(0, 8))
    def test_pieces_are_counted_from_both_ends(self, text: str, index: int) -> None:
        pieces = text.split(":")
        value = text.encode()
        if index < len(pieces):
            for number in (index, index - len(pieces)):
                assert rendered(f"%{{piece(x, ':', {number})}}", x=value) == pieces[index].encode()
        for number in (len(pieces), -len(pieces) - 1):
            absent = Template.parse(f"%{{piece(x, ':', {number})}}")
            assert absent.renderer(OnMissing.UNSET)(Event(b"", {"x": value})) is None

    @given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
    @example(b'"\\\x00\x1f\x7f\xff')
    def test_any_bytes_are_a_string_of_json(self, value: bytes) -> None:
        written = rendered('{"x":%{json(x)},"y":%{json(y)}}', x=value)
        assert json.loads(written) == {"x": value.decode("utf-8", "replace"), "y": None}

    def test_string_of_json_grows_within_the_limit_of_all_values(self) -> None:
        with pytest.raises(DecorateError, match="MiB"):
            rendered("%{json(x)}", x=b"\0" * (12 << 20))

    def test_group_that_did_not_match_is_absent(self) -> None:
        assert rendered("%{default(extract(x, '(a)|b', 1), 'none')}", x=b"b") == b"none"


class TestHash:
    @given(st.binary())
    def test_digests_are_those_of_the_library(self, value: bytes) -> None:
        for name in ("md5", "sha1", "sha256"):
            digest = hashlib.new(name, value)
            assert rendered(f"%{{{name}(x)}}", x=value) == digest.hexdigest().encode()
            assert rendered(f"%{{{name}(x, 'bytes')}}", x=value) == digest.digest()

    @given(st.binary(), st.text(min_size=1).filter(lambda key: "%" not in key))
    def test_hmac_is_that_of_the_library(self, value: bytes, key: str) -> None:
        digest = hmac.new(key.encode(), value, "sha256")
        assert rendered(f"%{{hmac_sha256(x, {quoted(key)})}}", x=value) == digest.hexdigest().encode()

    @given(st.binary())
    def test_checksum_is_that_of_the_library(self, value: bytes) -> None:
        assert int(rendered("%{crc32(x)}", x=value), 16) == zlib.crc32(value)


class TestTime:
    @pytest.mark.parametrize(
        ("unit", "expected"),
        [
            ("second", "2024-03-31T15:42:08.000+02:00"),
            ("minute", "2024-03-31T15:42:00.000+02:00"),
            ("hour", "2024-03-31T15:00:00.000+02:00"),
            ("day", "2024-03-31T00:00:00.000+01:00"),
            ("week", "2024-03-25T00:00:00.000+01:00"),
            ("month", "2024-03-01T00:00:00.000+01:00"),
            ("year", "2024-01-01T00:00:00.000+01:00"),
        ],
    )
    def test_truncation_respects_daylight_saving_time(self, unit: str, expected: str) -> None:
        template = Template.parse(f"%{{iso(truncate_time('{unit}'))}}", "Europe/Berlin")
        assert template.render(Event(b"", timestamp_ms=1_711_892_528_999)) == expected.encode()

    @given(st.integers(0, 2**53), st.integers(0, 2**53))
    def test_inverted_times_sort_in_reverse(self, one: int, other: int) -> None:
        first, second = (rendered("%{inverted_time(x)}", x=b"%d" % time) for time in (one, other))
        assert (first > second) == (one < other)
        assert len(first) == 19

    def test_default_zone_is_that_of_the_pipeline(self) -> None:
        assert rendered("%{date(0, '%H')} %{date(0, '%H', 'UTC')}", "Asia/Tokyo") == b"09 00"

    def test_time_outside_the_calendar_fails_the_event(self) -> None:
        for call in ("date(x, '%Y')", "iso(x)", "truncate_time(x, 'day')"):
            with pytest.raises(ExpressionError):
                rendered(f"%{{{call}}}", x=b"9" * 30)


INTEGERS = st.integers(-(2**63), 2**63 - 1)
# every text that is a number: `ingest.expressions.numbers`
NUMBERS = st.from_regex(r"[+-]?[0-9]{1,50}(\.[0-9]{1,50})?([eE][+-]?[0-9]{1,2})?", fullmatch=True) | st.from_regex(
    r"[+-]?[0-9]{1,100}", fullmatch=True
)


class TestNumber:
    @given(INTEGERS, INTEGERS)
    def test_whole_numbers_are_exact(self, a: int, b: int) -> None:
        values = {"a": b"%d" % a, "b": b"%d" % b}
        assert rendered("%{add(a, b)}", **values) == b"%d" % (a + b)
        assert rendered("%{sub(a, b)}", **values) == b"%d" % (a - b)
        assert rendered("%{mul(a, b)}", **values) == b"%d" % (a * b)
        assert rendered("%{long_bytes(a)}", **values) == a.to_bytes(8, "big", signed=True)
        if b:
            assert rendered("%{div(a, b)}", **values) == b"%d" % (a // b)
            assert rendered("%{mod(a, b)}", **values) == b"%d" % (a % b)

    @given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
    def test_inverted_numbers_sort_in_reverse(self, a: int, b: int) -> None:
        first, second = (rendered("%{inverted(x)}", x=b"%d" % number) for number in (a, b))
        assert (first > second) == (a < b)

    def test_arithmetic_accepts_decimals(self) -> None:
        values = {"a": b"7.5", "b": b"-2"}
        template = "%{add(a, b)} %{sub(a, b)} %{mul(a, b)} %{div(a, b)} %{mod(a, b)} %{int(a)}"
        assert rendered(template, **values) == b"5.5 9.5 -15.0 -4 -0.5 7"

    @given(NUMBERS, NUMBERS)
    @example("1e80", "7")
    @example("1e80", "1")
    @example("9" * 50 + "." + "9" * 50, "1")
    @example("9" * 50 + "e99", "0." + "0" * 49 + "7e-99")
    @example("-0." + "0" * 49 + "7e-99", "9" * 50 + "e99")
    def test_all_numbers_are_exact(self, a: str, b: str) -> None:
        values = {"a": a.encode(), "b": b.encode()}
        one, other = Fraction(a), Fraction(b)

        def number(template: str) -> Fraction:
            return Fraction(rendered(template, **values).decode())

        assert number("%{add(a, b)}") == one + other
        assert number("%{sub(a, b)}") == one - other
        assert number("%{mul(a, b)}") == one * other
        assert number("%{int(a)}") == trunc(one)
        if other:
            assert number("%{div(a, b)}") == floor(one / other)
            assert number("%{mod(a, b)}") == one - floor(one / other) * other

    @given(NUMBERS, st.integers(0, 100))
    @example("-0.005", 2)
    @example("-0.004", 2)
    @example("9" * 50 + "." + "9" * 50, 0)
    def test_rounding_is_half_away_from_zero(self, a: str, digits: int) -> None:
        text = rendered(f"%{{round(a, {digits})}}", a=a.encode())
        scaled = abs(Fraction(a)) * 10**digits
        expected = Fraction(floor(scaled + Fraction(1, 2)), 10**digits)
        assert Fraction(text.decode()) == (-expected if Fraction(a) < 0 else expected)
        assert b"-" not in text or expected or "." not in a

    def test_no_number_is_too_large_to_be_rounded(self) -> None:
        assert rendered("%{round(x * x * x, 0)}", x=b"9" * 50 + b"." + b"9" * 50).isdigit()

    @pytest.mark.parametrize("x", [b"9" * 100, b"9" * 50 + b"." + b"9" * 50])
    def test_product_with_too_many_digits_fails_the_event(self, x: bytes) -> None:
        template = "%{mul(" + ", ".join(["x"] * 50) + ")}"
        with pytest.raises(ExpressionError) as raised:
            rendered(template, x=x)
        assert raised.value.code == "number_too_large"

    def test_sum_with_too_many_digits_fails_the_event(self) -> None:
        with pytest.raises(ExpressionError) as raised:
            rendered("%{add(mul(x, x, x, x, x), y)}", x=b"1e99", y=b"0.1")
        assert raised.value.code == "number_too_large"


class TestIdentity:
    @given(st.text(max_size=5), st.integers(0, 99), st.integers(0, 2**40), st.integers(0, 9))
    def test_uuid_is_version_5_and_differs_with_the_origin(
        self, topic: str, partition: int, offset: int, fan_out: int
    ) -> None:
        template = Template.parse("%{uuid()}")
        origin = Origin(topic, partition, offset, fan_out)
        made = uuid.UUID(template.render(Event(b"", origin=origin)).decode())
        name = Template.parse("%{origin()}").render(Event(b"", origin=origin))
        namespace = uuid.uuid5(uuid.NAMESPACE_URL, "urn:attr2hbase:event")
        expected = hashlib.sha1(namespace.bytes + name, usedforsecurity=False).digest()[:16]
        assert made == uuid.UUID(bytes=expected, version=5)
        assert template.render(Event(b"", origin=origin._replace(offset=offset + 1))) != str(made).encode()

    def test_salt_selects_another_series(self) -> None:
        assert rendered("%{uuid('a')}") != rendered("%{uuid('b')}") != rendered("%{uuid()}")


def test_function_of_an_absent_attribute_is_absent_unless_lenient():
    takes_absent = {name for name, function in FUNCTIONS.items() if function.lenient}
    assert takes_absent == {"concat", "default", "if", "json"}
