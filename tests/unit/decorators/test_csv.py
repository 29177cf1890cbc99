"""The csv decorator."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.csv import Csv
from ingest.testing.events import event_of

ABC = "{columns: [a, b, c]}"
LENIENT = "{columns: [a, b, c], whitespace: lenient}"
LENIENT_ESCAPED = '{columns: [a, b], whitespace: lenient, escape: "\\\\"}'
ESCAPED = '{columns: [a, b], escape: "\\\\"}'


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        (ABC, b"1,2,3", {"a": b"1", "b": b"2", "c": b"3"}),
        (ABC, b'\xef\xbb\xbf"1,1",2,\xef\xbb\xbf3', {"a": b"1,1", "b": b"2", "c": b"\xef\xbb\xbf3"}),
        (ABC, b"\xef\xbb\xbf1,2,3", {"a": b"1", "b": b"2", "c": b"3"}),
        # an escape before a blank is itself, so it does not escape what follows the blank
        (LENIENT_ESCAPED, b"C:\\Data\\ , x", {"a": b"C:\\Data\\", "b": b"x"}),
        (LENIENT_ESCAPED, b"C:\\Data\\\t,x\\ ", {"a": b"C:\\Data\\", "b": b"x\\"}),
        (LENIENT_ESCAPED, b'"C:\\Data\\\\" , x\\,y', {"a": b"C:\\Data\\", "b": b"x,y"}),
        (ABC, b"1,2,3\r\n", {"a": b"1", "b": b"2", "c": b"3"}),
        (ABC, b",,", {"a": b"", "b": b"", "c": b""}),
        (ABC, b' 1 , "2" ,3', {"a": b" 1 ", "b": b' "2" ', "c": b"3"}),
        (ABC, b'"1","2,2","3""3"', {"a": b"1", "b": b"2,2", "c": b'3"3'}),
        (ABC, b'"1","2\n2",3\n', {"a": b"1", "b": b"2\n2", "c": b"3"}),
        (ABC, b'\xff,"\xfe,",\x00', {"a": b"\xff", "b": b"\xfe,", "c": b"\x00"}),
        ("{columns: [a]}", b"", {"a": b""}),
        ("{columns: [a, '', c]}", b"1,2,3", {"a": b"1", "c": b"3"}),
        ("{columns: [a, b], separator: ';'}", b"1,1;2", {"a": b"1,1", "b": b"2"}),
        ('{columns: [a, b], separator: "\\t", quote: null}', b'"1\t2"', {"a": b'"1', "b": b'2"'}),
        ('{columns: [a, b], quote: "\'"}', b"'1,''1',\"2", {"a": b"1,'1", "b": b'"2'}),
        (ESCAPED, rb'"1\"2","C:\Data\new"', {"a": b'1"2', "b": rb"C:\Data\new"}),
        (ESCAPED, rb'"C:\\Data\\",""" \""', {"a": b"C:\\Data\\", "b": b'" "'}),
        (ESCAPED, b"1\\,2,C:\\x\\", {"a": b"1,2", "b": b"C:\\x\\"}),
        (ESCAPED, rb"\N,\\N", {"a": rb"\N", "b": rb"\N"}),
        (ESCAPED, rb'a\"b,"c, \"d\""', {"a": b'a"b', "b": b'c, "d"'}),
        ('{columns: [a, b], separator: "|", quote: null, escape: "^"}', b'1^|"|^^2', {"a": b'1|"', "b": b"^2"}),
        ('{columns: [a, b], quote: "\'", escape: "/"}', b"'it/'s',2/3", {"a": b"it's", "b": b"2/3"}),
        (LENIENT, b'"1", "2, x",\t"3" ', {"a": b"1", "b": b"2, x", "c": b"3"}),
        (LENIENT, b" 1 ,\t2 2\t, 3 \r\n", {"a": b"1", "b": b"2 2", "c": b"3"}),
        (LENIENT, b' "1 ""1 " , 5" disk ," "', {"a": b'1 "1 ', "b": b'5" disk', "c": b" "}),
        (LENIENT, b'"1 \n 1" , , ', {"a": b"1 \n 1", "b": b"", "c": b""}),
        (LENIENT, b'"", "" ,\xff\xfe ', {"a": b"", "b": b"", "c": b"\xff\xfe"}),
        (LENIENT_ESCAPED, rb' "1\" , 1" , C:\Data\ ', {"a": b'1" , 1', "b": b"C:\\Data\\"}),
        (LENIENT_ESCAPED, b"1\\, 1 , 2\\", {"a": b"1, 1", "b": b"2\\"}),
        (LENIENT_ESCAPED, rb" \\ , \"2 ", {"a": b"\\", "b": b'"2'}),
        ('{columns: [a, b], whitespace: lenient, separator: "\\t"}', b' "1\t1" \t 2 ', {"a": b"1\t1", "b": b"2"}),
        ('{columns: [a, b], whitespace: lenient, separator: " "}', b'\t"1 1"\t \t2', {"a": b"1 1", "b": b"2"}),
        (
            '{columns: [a, b], whitespace: lenient, quote: null, escape: "/"}',
            b' "1 , "/,2 ',
            {"a": b'"1', "b": b'",2'},
        ),
        ("{columns: [a, b], on_count: fit}", b"1,2,3", {"a": b"1", "b": b"2"}),
        ("{columns: [a, b], on_count: fit}", b"1", {"a": b"1"}),
    ],
)
def test_fields_are_named_by_columns(attributes_after, settings, body, expected):
    assert attributes_after(Csv, settings, body) == expected


@pytest.mark.parametrize(
    ("settings", "line", "expected"),
    [
        # TiDB Cloud, the Atlas of Living Australia, JSON in Hive's OpenCSVSerde
        ("{columns: [id, t]", r'1,"nick name is \"Mike\""', ["1", 'nick name is "Mike"']),
        ("{columns: [a, b]", r'"col1","\"col2\""', ["col1", '"col2"']),
        ("{columns: [a, b]", r'"t1","{\"a\":\"x,y\",\"b\":{\"c\":1}}"', ["t1", '{"a":"x,y","b":{"c":1}}']),
        # pwalk, DuckDB's fields without quotes, a load balancer of AWS
        ("{columns: [i, p]", r'12,"/fh/My \"quoted\", file\\name.txt"', ["12", r'/fh/My "quoted", file\name.txt']),
        ("{columns: [a, b, c], separator: '|'", r"Alex|a\|b|\"x\"", ["Alex", "a|b", '"x"']),
        (
            "{columns: [lb, r, ua], separator: ' '",
            r'app/lb "GET http://x:80/?q=\"a\" HTTP/1.1" "Dalvik/2.1.0 (Linux; Alba 10\" Build/LMY47I)"',
            ["app/lb", 'GET http://x:80/?q="a" HTTP/1.1', 'Dalvik/2.1.0 (Linux; Alba 10" Build/LMY47I)'],
        ),
    ],
)
def test_lines_with_backslashes_of_real_writers(attributes_after, settings, line, expected):
    found = attributes_after(Csv, settings + ', escape: "\\\\"}', line.encode())
    assert list(found.values()) == [value.encode() for value in expected]


@given(
    st.lists(st.text(st.characters(max_codepoint=255), max_size=6), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_round_trip(fields, separator):
    line = io.StringIO(newline="")
    csv.writer(line, delimiter=separator).writerow(fields)
    event = event_of(line.getvalue().encode("latin-1"))
    columns = [f"c{number}" for number in range(len(fields))]
    Csv(Csv.settings_class()(columns=columns, separator=separator)).decorate(event)
    assert event.attributes == {name: field.encode("latin-1") for name, field in zip(columns, fields, strict=True)}


@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from('ab", \t\n\xff\\'), max_size=6), *[st.text(st.sampled_from(" \t"), max_size=2)] * 2
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([",", ";", "\t", "|", " "]),
    st.sampled_from([None, "\\"]),
)
def test_white_space_outside_of_quotes_has_no_meaning(drawn, separator, escape):
    def quoted(field):
        field = field.replace("\\", "\\\\") if escape else field
        return '"' + field.replace('"', escape + '"' if escape else '""') + '"'

    spaces = [(field, *(space.replace(separator, "") for space in around)) for field, *around in drawn]
    line = separator.join(before + quoted(field) + after for field, before, after in spaces)
    columns = [f"c{number}" for number in range(len(drawn))]
    event = event_of(line.encode("latin-1"))
    settings = Csv.settings_class()(columns=columns, separator=separator, escape=escape, whitespace="lenient")
    Csv(settings).decorate(event)
    assert event.attributes == {name: field.encode("latin-1") for name, (field, *_) in zip(columns, drawn, strict=True)}


@pytest.mark.parametrize(
    "body", [b'"1" x,2,3', b'"1"" ,2,3', b'"1,2,3 ', b'1, "2,3', b'"1" ,"2" "2",3', b'x, "1\n', b" 1,2\n3,4"]
)
def test_invalid_line_with_white_space_fails(refusal_of, body):
    assert refusal_of(Csv, LENIENT, body) == "bad_csv"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"1,2", "field_count"),
        (b"1,2,3,4", "field_count"),
        (b'"1,2,3', "bad_csv"),
        (b'"1"1,2,3', "bad_csv"),
        (b"1,2,3\n4,5,6", "bad_csv"),
        (b'"1",2,3\n4,5,6', "bad_csv"),
        (b"1,2\r3,3", "bad_csv"),
    ],
)
def test_invalid_line_fails(refusal_of, body, code):
    assert refusal_of(Csv, ABC, body) == code


def test_reads_an_attribute(attributes_after):
    assert attributes_after(Csv, "{source: s, columns: [a]}", b"x", {"s": "1"})["a"] == b"1"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Csv, "{source: s, columns: [a]}") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Csv, "{columns: [b, a]}", b"1,2", {"a": "0"}, write_once=True) == "attribute_exists"


def test_field_may_exceed_the_default_limit_of_python(attributes_after):
    large = b"x," * 100_000
    assert attributes_after(Csv, "{columns: [a]}", b'"' + large + b'"') == {"a": large}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{columns: []}", [("too_short", ("columns",))]),
        ("{columns: [a], separator: '::'}", [("string_too_long", ("separator",))]),
        ("{columns: [a], separator: '\\t'}", [("bad_character", ("separator",))]),
        ("{columns: [a], separator: 'ö'}", [("bad_character", ())]),
        ('{columns: [a], separator: "\\n"}', [("bad_character", ())]),
        ("{columns: [a], separator: '|', quote: '|'}", [("conflict", ())]),
        ("{columns: [a, '', '', a]}", [("conflict", ())]),
        ("{separator: ','}", [("missing", ("columns",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Csv, settings) == expected
