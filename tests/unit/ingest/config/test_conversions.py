"""Warnings for patterns that convert row keys, or values that are already in binary form."""

import pytest

from tests.support.problems import chain_file, problems_of

KEY = 'value: {attribute: "2hb_", value: "%{key}-%{topic}-%{partition}-%{offset}"}'
OTHER_KEY = KEY.replace("2hb_", "3hb_")
AUTO = "convert: {pattern: '%s', encode: auto}"
INT32 = "convert: {attributes: {took: '2hb_m:took'}, encode: int32}"
HINT = "its bytes may look like text: convert each value once"


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "p.yaml"

    def found(*decorators, **options):
        path.write_text(chain_file(*decorators, **options))
        return problems_of(path)

    return found


def test_pattern_that_matches_the_row_key_is_a_warning(problems):
    what = 'the pattern also matches "2hb_", the row key that the value on line 8 sets'
    hint = "set the row key after this convert, or exclude it from the pattern"
    assert problems("json", KEY, AUTO % "^2hb_") == [f"9:28: doubtful: warning: {what}; {hint}"]


@pytest.mark.parametrize(
    "decorators",
    [
        ("json", AUTO % "^2hb_", KEY),
        ("json", KEY, AUTO % "^2hb_."),
        ("json", KEY, AUTO % "^2hb_m:"),
        ("json", KEY, "convert: {pattern: '^2hb_', decode: int64}"),
        ("json", KEY, "remove: {pattern: '^x'}"),
    ],
)
def test_pattern_that_does_not_read_the_row_key_is_accepted(problems, decorators):
    assert problems(*decorators) == []


def test_row_keys_of_several_sinks_are_checked(problems):
    sinks = "[{attr2hbase: {table: t}}, {attr2hbase: {table: u, attr_prefix: 3hb_, label: u}}]"
    found = problems("json", KEY, OTHER_KEY, AUTO % "hb_$", sinks=sinks)
    assert [warning.partition("matches ")[2][:6] for warning in found] == ['"2hb_"', '"3hb_"']


def test_second_conversion_of_a_value_is_a_warning(problems):
    what = 'the pattern matches "2hb_m:took", which the convert on line 8 has already converted'
    assert problems("json", INT32, AUTO % "^2hb_m:", KEY) == [f"9:28: doubtful: warning: {what}; {HINT}"]


@pytest.mark.parametrize(
    "decorator",
    [
        "json: {prefix: '2hb_m:', numbers: auto}",
        "json: {prefix: '2hb_m:', numbers: float64}",
        "json: {prefix: '2hb_x:', numbers: auto, elements: {tags: '2hb_m:'}}",
    ],
)
def test_conversion_of_binary_members_is_a_warning(problems, decorator):
    what = 'the pattern matches names that start with "2hb_m:", whose numbers the json on line 7 has already converted'
    assert problems(decorator, AUTO % "^2hb_m:", KEY) == [f"8:28: doubtful: warning: {what}; {HINT}"]


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("convert: {pattern: '^2hb_m:', encode: int64, on_invalid: keep}", AUTO % "^2hb_m:", "2hb_m:x"),
        (AUTO % "^2hb_m:", "convert: {pattern: '^2hb_m:rx', encode: int64}", "2hb_m:rx"),
        (AUTO % "^2hb_m:", "convert: {pattern: 'rx$', encode: hex}", "2hb_m:rx"),
        (AUTO % "^2hb_m:(?!id$)", "convert: {pattern: '^2hb_m:(rx|tx)$', encode: int64}", "2hb_m:rx"),
        ("convert: {pattern: '^2hb_', decode: int32, encode: int64}", AUTO % "^2hb_m:", "2hb_m:x"),
    ],
)
def test_second_pattern_for_converted_values_is_a_warning(problems, first, second, name):
    what = f'the pattern matches names such as "{name}", which the convert on line 8 has already converted'
    found = problems("json: {prefix: '2hb_m:'}", first, second, KEY)
    assert [each.partition("doubtful: ")[2] for each in found] == [f"warning: {what}; {HINT}"]


def test_second_pattern_for_a_name_that_is_set_before_is_a_warning(problems):
    first, second = AUTO % "^2hb_m:r[a-z]$", AUTO % "x$"
    (warning,) = problems("json", "value: {attribute: '2hb_m:rx', value: '%{rx}'}", first, second, KEY)
    assert 'names such as "2hb_m:rx"' in warning


@pytest.mark.parametrize(
    "decorators",
    [
        (AUTO % "^2hb_m:", AUTO % "^2hb_n:"),
        (AUTO % "^2hb_m:(?!took$)", AUTO % "^2hb_m:took$"),
        (AUTO % "^2hb_m:took$", AUTO % "^2hb_m:(?!took$)"),
        (AUTO % "^2hb_m:", "convert: {pattern: '^2hb_m:', decode: int64}"),
        ("convert: {pattern: '^2hb_m:', decode: hex}", AUTO % "^2hb_m:"),
        (
            "convert: {pattern: '^2hb_m:', encode: auto, when: \"%{a} == '1'\"}",
            "convert: {pattern: '^2hb_m:', encode: int64, when: \"%{a} != '1'\"}",
        ),
        (INT32, AUTO % "^2hb_m:(?!took$)"),
        (AUTO % "^2hb_m:", INT32),
        (INT32.replace("int32", "hex"), AUTO % "^2hb_m:"),
        (INT32, "convert: {pattern: '^2hb_m:', decode: int32}"),
        ("json: {prefix: '2hb_m:'}", AUTO % "^2hb_m:"),
        ("json: {prefix: '2hb_n:', numbers: auto}", AUTO % "^2hb_m:"),
        ("json: {numbers: auto}", AUTO % "^2hb_m:"),
    ],
)
def test_other_conversions_are_accepted(problems, decorators):
    assert problems("json", *decorators, KEY) == []


def test_type_by_value_of_a_named_attribute_is_a_warning(problems):
    (warning,) = problems("convert: {source: '2hb_m:took', encode: auto}", KEY)
    assert warning.startswith("7:49: doubtful: warning: with `auto` the type depends on each value")
