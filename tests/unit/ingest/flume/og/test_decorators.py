"""Flume's decorators and their translations have the same effect on events."""

import hashlib
from base64 import b64encode

import pytest

from decorators import BUILTIN
from ingest.api import ConfigInvalidError
from ingest.config import Kind
from ingest.flume import Outcome
from ingest.flume.og.decorators import LEFT_OUT, TRANSLATED

EVERY = [
    "ackChecker", "ackInjector", "ackedWriteAhead", "batch", "benchinject", "benchreport", "bloomCheck", "bloomGen",
    "choke", "delay", "digest", "diskFailover", "exDate", "flakeyAppend", "format", "gunzip", "gzip", "inmem",
    "insistentAppend", "insistentOpen", "intervalDroppyAppend", "intervalFlakeyAppend", "intervalSampler", "lazyOpen",
    "mask", "mult", "nullDeco", "probSampler", "regex", "regexAll", "reservoirSampler", "select", "split",
    "stubbornAppend", "unbatch", "value",
]  # fmt: skip
CALLS = {
    "digest": 'digest("MD5","x")',
    "exDate": 'exDate("d","yyyy")',
    "format": 'format("x")',
    "intervalDroppyAppend": "intervalDroppyAppend(3)",
    "intervalSampler": "intervalSampler(3)",
    "mask": 'mask("a")',
    "probSampler": "probSampler(.5)",
    "regex": 'regex("a",0,"x")',
    "regexAll": 'regexAll("(a)","x")',
    "reservoirSampler": "reservoirSampler(3)",
    "select": 'select("a")',
    "split": 'split(":",0,"x")',
    "value": 'value("a","b")',
}
COUNT = 20
CLOCK = {"timestamp_ms": 1_309_275_728_123}


def digest(algorithm):
    return b64encode(hashlib.new(algorithm, b"a").digest()).decode()


def body(text, **attributes):
    return {"body": text, "attributes": attributes}


@pytest.mark.parametrize("name", EVERY)
def test_every_decorator_has_a_translation_or_a_reason(name):
    assert (name in TRANSLATED) is not (name in LEFT_OUT)


def test_no_other_decorators_are_listed():
    assert sorted(TRANSLATED.keys() | LEFT_OUT.keys()) == EVERY


@pytest.mark.parametrize("name", TRANSLATED)
def test_translated_decorator_is_one_of_ours(name, imported):
    call = CALLS.get(name, name)
    first, _ = imported(f'{call} attr2hbase("t")').entries
    assert (first.outcome, first.by in BUILTIN) == (Outcome.TRANSLATED, True)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_omitted_decorator_is_in_a_comment_and_the_report(name, imported):
    result = imported(f'value("a","b") {name}(1) value("c","d") attr2hbase("t")')
    (entry,) = [entry for entry in result.entries if entry.outcome is Outcome.LEFT_OUT]
    assert (entry.original, entry.why, entry.place.column) == (f"{name}(1)", LEFT_OUT[name], 16)
    lines = [line.strip() for line in result.yaml.splitlines()]
    first, second = (lines.index(f"- value: {{attribute: {pair}}}") for pair in ("a, value: b", "c, value: d"))
    assert lines[first + 1].startswith(f"# left out: {name}(1): ")
    assert first < second


@pytest.mark.parametrize(
    ("decorators", "event", "after"),
    [
        ('value("a","2")', body("x"), {"a": "2"}),
        ('value("a","2")', body("x", a="1"), "attribute_exists"),
        ('mask("a") value("a","2")', body("x", a="1"), {"a": "2"}),
        ('value("a","%{host} 100%")', body("x"), {"a": "%{host} 100%"}),
        ('value("a","%{b}%P", escape=true)', body("x", b="1"), {"b": "1", "a": "1"}),
        ('value("a","%{host}", escape="TRUE")', body("x") | {"host": "h1"}, {"a": "h1"}),
        ('value("a","%{host}", escape="yes")', body("x"), {"a": "%{host}"}),
        ('value("a","${HOME}")', body("x"), {"a": "${HOME}"}),
        ('value("a\\n\\"é","\\u0000")', body("x"), {'a\n"é': "\0"}),
        ('select("a","c")', body("x", a="1", b="2"), {"a": "1"}),
        ('mask("a","c")', body("x", a="1", b="2"), {"b": "2"}),
        ('format("%{nanos}:") split(":",0,"2hb_")', body("x") | {"nanos": 7}, {"2hb_": "7"}),
        ('format("%{body}%{none}!") regex(".*",0,"x")', body("%{host}"), {"x": "%{host}!"}),
        ('regex("(\\\\d+):(\\\\d+):(\\\\d+)",3,"x")', body("55:66:33:22"), {"x": "33"}),
        ('regex("(\\\\d+)",0,"x")', body("abc"), {"x": ""}),
        ('regex("(\\\\d+)",2,"x")', body("12"), {"x": ""}),
        ('regex("a(b)?",1,"x")', body("a"), "unmatched_group"),
        ('regex("(.*)$",1,"x")', body("line\r\n"), {"x": "line"}),
        ('regex("\\\\uD83D\\\\uDE00(.*)",1,"x")', body("\N{GRINNING FACE}a"), {"x": "a"}),
        ('regexAll("(\\\\d):(\\\\d):(\\\\d)","d1","","d2")', body("1:2:3.4foobar5"), {"d1": "1", "d2": "3"}),
        ('regexAll("(\\\\d)","d1","d2")', body("1"), {"d1": "1"}),
        ('regexAll("(\\\\d)(\\\\d)","d1")', body("12"), {"d1": "1"}),
        ('regexAll("(\\\\d)","d1")', body("x"), {}),
        ('regexAll("\\\\d","d1")', body("1"), {}),
        ('regexAll("(\\\\d)"," ")', body("1"), {}),
        ('regexAll("(a)|(b)","x","y")', body("a"), "unmatched_group"),
        ('split(":",2,"x")', body("a:b::"), {"x": ""}),
        ('split(":",0,"x")', body(":b"), {"x": ""}),
        ('split("[:;]+",1,"x")', body("a:;b"), {"x": "b"}),
        ('split(".",0,"x")', body("a.b"), {"x": ""}),
        ('digest("MD5","x",base64=true)', body("a"), {"x": digest("md5")}),
        ('digest("SHA-1","x",base64=true)', body("a"), {"x": digest("sha1")}),
        ('digest("sha-256","x",base64="True")', body("a"), {"x": digest("sha256")}),
        ('exDate("d","yyyy-MM-dd")', body("x", d="2010-13-01"),
         {"d": "2010-13-01", "dateday": "01", "datemonth": "01", "dateyear": "2011", "datehr": "00", "datemin": "00",
          "datesec": "00"}),
        ('exDate("d","yyyy-MM-dd","t_","false")', body("x", d="2010-07-01"),
         {"d": "2010-07-01", "t_day": "01", "t_month": "07", "t_year": "2010", "t_hr": "00", "t_min": "00",
          "t_sec": "00"}),
        ('exDate("d","yyyy")', body("x"), "no_attribute"),
        ('exDate("d","yyyy")', body("x", d="?"), {"d": "?"}),
    ],
)  # fmt: skip
def test_decorator_has_the_same_effect(decorators, event, after, attributes):
    assert attributes(decorators, event) == after


@pytest.mark.parametrize(("zone", "hour"), [("America/Denver", "11"), ("UTC", "17")])
def test_dates_are_in_the_given_zone(zone, hour, attributes):
    event = body("x", d="26/Jul/2010:11:48:05 -0600")
    after = attributes('exDate("d","dd/MMM/yyyy:HH:mm:ss Z") value("h","%H",escape=true)', event | CLOCK, zone=zone)
    assert (after["dateday"], after["datemonth"], after["dateyear"], after["datehr"]) == ("26", "07", "2010", hour)
    assert after["h"] == {"UTC": "15", "America/Denver": "09"}[zone]


@pytest.mark.parametrize(
    ("decorators", "offsets"),
    [
        ("intervalSampler(10)", [0, 10]),
        ("intervalDroppyAppend(3)", [n for n in range(COUNT) if n % 3 != 2]),
        ("probSampler(.10,1337)", [12]),
        ("probSampler(2)", list(range(COUNT))),
        ("probSampler(2, 9223372036854775807)", list(range(COUNT))),
        ('probSampler("-0.5f")', []),
        ("mult(0)", []),
    ],
)
def test_sampler_keeps_the_same_events(decorators, offsets, outcomes):
    text = f'{decorators} value("2hb_","r") value("2hb_f:q","v") attr2hbase("t")'
    kept = [n for n in range(COUNT) if outcomes(text, {"body": "x", "offset": n})[0]["outcome"] == "kept"]
    assert kept == offsets


def test_mult_makes_copies(outcomes):
    assert len(outcomes('mult(3) attr2hbase("t")', {"body": "x"})) == 3
    assert len(outcomes('mult attr2hbase("t")', {"body": "x"})) == 1


def test_packed_events_are_unpacked_and_others_pass(attributes):
    assert attributes("gunzip unbatch", body("x", a="1")) == {"a": "1"}
    assert attributes("gunzip", body("x", compressGzip="no")) == "bad_gzip"


@pytest.mark.parametrize(
    ("decorators", "place", "message"),
    [
        ('value("a")', "1:1", "value takes 2 arguments, not 1"),
        ("select", "1:1", "select takes at least 1 argument, not 0"),
        ('format("a","b")', "1:1", "format takes 1 argument, not 2"),
        ("mult(1,2)", "1:1", "mult takes 0 to 1 arguments"),
        ('regex("a","b","c")', "1:11", 'the index of regex is a whole number, not "b"'),
        ('split(":","-1","c")', "1:11", "the index of split is 0 or more, not -1"),
        ('split(":",99999999999,"c")', "1:11", "is -2147483648 to 2147483647, not 99999999999"),
        (f'split(":",{"9" * 5_000},"c")', "1:11", "is -2147483648 to 2147483647, not 99999999999"),
        ('regex("(a",1,"c")', "1:7", "missing )"),
        ('regex("\\\\x{FFFFFF}",1,"c")', "1:7", "is not a character (column 1 of the expression)"),
        ('regex("a\\\\uD83D",1,"c")', "1:7", "is not a character (column 2 of the expression)"),
        (f'regex("a{{{"9" * 5_000}}}",1,"c")', "1:7", "too large"),
        ('regex("\\\\p{L}",1,"c")', "1:7", "cannot be translated"),
        ('regexAll("(a)(b)","c","c")', "1:23", '"c" is listed twice'),
        ('digest("MD4","c")', "1:8", 'there is no digest "MD4"'),
        ("intervalSampler(0)", "1:17", "is 1 or more"),
        ("probSampler(true)", "1:13", "is a number"),
        ('probSampler(.5, "x")', "1:17", "is a whole number"),
        ("probSampler(.5, 9223372036854775808)", "1:17", "-9223372036854775808 to 9223372036854775807, not"),
        ('select("a","a")', "1:1", "listed twice"),
        ('exDate("a","QQ")', "1:12", "is not a date field"),
        ("value(a,b)", "1:7", 'quote it: "a"'),
        ('vlaue("a","b")', "1:1", 'did you mean "value"'),
        ("latch(1)", "1:1", "was never registered"),
        ("failchain(1)", "1:1", "removed in Flume 0.9.3"),
        ("console", "1:1", "console is a sink"),
    ],
)  # fmt: skip
def test_arguments_that_flume_rejected_are_errors_with_a_place(decorators, place, message, imported):
    with pytest.raises(ConfigInvalidError) as caught:
        imported(f'{decorators} attr2hbase("t")')
    text = caught.value.report.to_text()
    assert text.startswith(f"old.conf:{place}: ")
    assert message in text


def test_all_problems_are_reported_at_once(imported):
    with pytest.raises(ConfigInvalidError) as caught:
        imported('value("a")\nregex("(",1,"x")\n[ attr2hbase(t), hbsae ]')
    assert [problem["line"] for problem in caught.value.report.to_json()] == [1, 2, 3, 3]


@pytest.mark.parametrize(
    ("decorators", "warning"),
    [
        ('value("a","b",excape=true)', 'no keyword "excape"'),
        ('value("a","%P",escape=true)', '"%P" is not a tag'),
        ('format("%{rolltag}")', "set by roll sinks"),
        ('exDate("d","yyyy","d","false")', "Flume ignored this setting"),
        ('exDate("d","yyyy","d","true","x")', "ignores arguments after the first 4"),
        ('exDate("d","yyyy z")', "only those with one offset"),
        ('value("a","\\101")', "octal escapes lose their backslash"),
        ("batch(10)", "batch is not followed by unbatch"),
    ],
)
def test_difference_is_a_warning(decorators, warning, imported):
    problems = imported(f'{decorators} attr2hbase("t")').warnings
    (problem,) = [problem for problem in problems if problem.kind is Kind.NOT_AS_FLUME]
    assert warning in problem.message


def test_packing_followed_by_unpacking_is_no_warning(imported):
    assert imported('batch(10) gzip gunzip unbatch attr2hbase("t")').warnings == ()
