"""Flume's data-flow language: parsing, writing, and the places of errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.api import ConfigSyntaxError
from ingest.flume import plain, tree_of
from ingest.flume.og.lexer import RESERVED
from ingest.flume.og.tree import Call, Chain, Failover, FanOut, File, Node, Scope, Text


def tree(text):
    return tree_of(text, "f")


def component(name, *args, **kwargs):
    return {"name": name, "args": list(args), "kwargs": kwargs}


def simple(name):
    return {"sink": component(name)}


def function(name):
    return {"fn": name, "args": []}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", {"sink": component("a")}),
        ("a()", {"sink": component("a")}),
        ('a("x", 1, true)', {"sink": component("a", "x", "1", "true")}),
        ('a("x", k=1, l="y")', {"sink": component("a", "x", k="1", l="y")}),
        ("a(k=1)", {"sink": component("a", k="1")}),
        ("a(k=1, k=2)", {"sink": component("a", k="2")}),
        ("a b c", {"chain": [component("a"), component("b"), component("c")]}),
        ("{ a => b }", {"chain": [component("a"), component("b")]}),
        ("{ a => b c }", {"chain": [component("a"), component("b"), component("c")]}),
        ("{ a => { b => c } }", {"chain": [component("a"), component("b"), component("c")]}),
        ("[ a, b c ]", {"fanout": [{"sink": component("a")}, {"chain": [component("b"), component("c")]}]}),
        ("[ a ]", {"fanout": [{"sink": component("a")}]}),
        ("< a ? b >", {"failover": [{"sink": component("a")}, {"sink": component("b")}]}),
        (
            "< a ? < b ? c > >",
            {"failover": [simple("a"), {"failover": [simple("b"), simple("c")]}]},
        ),
        ("< a ? b ? c >", {"failover": [{"sink": component("a")}, {"sink": component("b")}, {"sink": component("c")}]}),
        ("roll(1000) { a }", {"roll": {"args": ["1000"], "kwargs": {}, "body": {"sink": component("a")}}}),
        (
            "roll(1000, trigger=size(100)) { a b }",
            {
                "roll": {
                    "args": ["1000"],
                    "kwargs": {"trigger": {"fn": "size", "args": ["100"]}},
                    "body": {"chain": [component("a"), component("b")]},
                }
            },
        ),
        ("collector() { a }", {"collector": {"args": [], "kwargs": {}, "body": {"sink": component("a")}}}),
        (
            "batch(100) gzip [ a, b ]",
            {
                "chain": [
                    component("batch", "100"),
                    component("gzip"),
                    {"fanout": [{"sink": component("a")}, {"sink": component("b")}]},
                ]
            },
        ),
        (
            "{ a => { b => [ c, < d ? e > ] } }",
            {
                "chain": [
                    component("a"),
                    component("b"),
                    {
                        "fanout": [
                            {"sink": component("c")},
                            {"failover": [{"sink": component("d")}, {"sink": component("e")}]},
                        ]
                    },
                ]
            },
        ),
        ('a(seqfile("bzip2"), b)', {"sink": component("a", {"fn": "seqfile", "args": ["bzip2"]}, function("b"))}),
        (
            'n1 : tail("/f") | value("x","y") attr2hbase("t") ;',
            {
                "nodes": [
                    {
                        "host": "n1",
                        "source": component("tail", "/f"),
                        "sink": {"chain": [component("value", "x", "y"), component("attr2hbase", "t")]},
                    }
                ]
            },
        ),
        (
            "10.0.0.1:a|b;n-2.x:c|d;",
            {
                "nodes": [
                    {"host": "10.0.0.1", "source": component("a"), "sink": {"sink": component("b")}},
                    {"host": "n-2.x", "source": component("c"), "sink": {"sink": component("d")}},
                ]
            },
        ),
    ],
)  # fmt: skip
def test_text_has_its_syntax_tree(text, expected):
    assert plain(tree(text)) == expected


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0", "0"),
        ("12", "12"),
        ("0x1F", "31"),
        ("017", "15"),
        ("0x7fffffffffffffff", "9223372036854775807"),
        ("1.5", "1.5"),
        (".9", ".9"),
        ("1e3", "1e3"),
        ("1.5f", "1.5f"),
        ("2d", "2d"),
        ("true", "true"),
        ("false", "false"),
        ('"a\nb"', "a\nb"),
        (r'"\b\t\n\f\r\"\'\\"', "\b\t\n\f\r\"'\\"),
        (r'"\\d+"', r"\d+"),
        (r'"\u00e9"', "é"),
        (r'"\uD83D\uDE00"', "\N{GRINNING FACE}"),
        (r'"\uD83D"', "\N{REPLACEMENT CHARACTER}"),
        (r'"\101"', "101"),
        ('"// no /* comment */"', "// no /* comment */"),
        ('""', ""),
    ],
)
def test_literals_are_text(written, meant):
    assert tree(f"a({written})") == Call("a", (Text(meant),))


@pytest.mark.parametrize("text", ["a/**/b", "a // x\n b", "// x\na b", "/* x\n * y\n */ a b // the end", " a\tb\r\n"])
def test_comments_and_blanks_separate(text):
    assert tree(text) == Chain((Call("a"),), Call("b"))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "the text is empty"),
        ("  // a\n", "1:1", "the text is empty"),
        ("{ a => b => c }", "1:10", 'found "=>", expected "}"'),
        ("{ a b => c }", "1:5", 'found "b", expected "=>"'),
        ("{{a => b} => c}", "1:2", 'found "{", expected a decorator'),
        ("[]", "1:2", 'found "]"'),
        ("[ a, ]", "1:6", 'found "]"'),
        ("< a >", "1:1", "a failover has two sinks"),
        ("roll(1) a", "1:9", 'found "a", expected "{"'),
        ("roll { a }", "1:6", 'found "{", expected "("'),
        ("roll", "1:5", "the text ends"),
        ("a(1,)", "1:5", 'found ")", expected an argument'),
        ("a(k=1, 2)", "1:8", "positional arguments must precede keywords"),
        ("a(-1)", "1:3", 'quote it: "-1"'),
        ("a(0X1F)", "1:3", "write 0x in lower case"),
        (f"a(0x{'f' * 5_000})", "1:3", "this number is too large"),
        (f"a(0{'7' * 5_000})", "1:3", "this number is too large"),
        ("a(08)", "1:4", 'found "8"'),
        ("a('x')", "1:3", "use double quotes"),
        ('a(\n  "x\\d")', "2:5", r'"\d" is not a valid escape'),
        ('a("x', "1:3", "this string is never closed"),
        ("a /* b", "1:3", "this comment is never closed"),
        ("a(true", "1:7", "the text ends"),
        ("true", "1:1", 'found "true"'),
        ("a collector", "1:12", "the text ends"),
        ("[ a ] b", "1:7", "nothing may follow a group"),
        ("a ;", "1:3", "host : source | sink ;"),
        ("a b ] c", "1:5", "the sink before it is complete"),
        ("n : a | b", "1:10", '";" at the end'),
        ("n : a b ;", "1:7", '"|" between source and sink'),
        ("n : a | b ; c", "1:14", '":" after the host'),
        ("1.2.3.4", "1:8", '":" after the host'),
        ("let x = a in b", "1:7", "`let` was removed"),
        ("a §", "1:3", "'§' cannot stand here"),
        ("{ a => " * 200 + "b" + " }" * 200, "1:841", "nested deeper"),
        ("a(" + "f(" * 200 + ")" * 201, "1:241", "nested deeper"),
    ],
)
def test_errors_have_their_place(text, place, message):
    with pytest.raises(ConfigSyntaxError) as caught:
        tree(text)
    assert caught.value.message.startswith(f"f:{place}: ")
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("text", ["[ " * 119 + "a" + " ]" * 119, "< a ? " * 119 + "b" + " >" * 119])
def test_deep_nesting_is_read(text):
    assert len(tree(text).written()) == len(text)


names = st.from_regex(r"[A-Za-z][A-Za-z0-9._-]{0,5}", fullmatch=True).filter(lambda name: name not in RESERVED)
texts = st.builds(Text, st.text(st.characters(exclude_categories=["Cs"]), max_size=8))


def calls(arguments):
    return st.builds(
        Call, names, st.lists(arguments, max_size=3).map(tuple), st.dictionaries(names, arguments, max_size=2)
    )


components = calls(st.recursive(texts, calls, max_leaves=4))


def sinks(inner):
    many = st.lists(inner, min_size=1, max_size=3).map(tuple)
    two = st.lists(inner, min_size=2, max_size=3).map(tuple)
    groups = st.one_of(
        st.builds(FanOut, many),
        st.builds(Failover, two),
        st.builds(
            lambda call, name, body: Scope(Call(name, call.args, call.kwargs), body),
            components,
            st.sampled_from(["roll", "collector"]),
            inner,
        ),
    )
    chains = st.builds(Chain, st.lists(components, min_size=1, max_size=3).map(tuple), st.one_of(components, groups))
    return st.one_of(groups, chains)


any_sink = st.recursive(components, sinks, max_leaves=6)


@settings(max_examples=50)
@given(any_sink)
def test_written_tree_is_parsed_back(sink):
    assert tree(sink.written()) == sink


@settings(max_examples=30)
@given(st.lists(st.builds(Node, names, components, any_sink), min_size=1, max_size=3).map(tuple))
def test_written_nodes_are_parsed_back(nodes):
    assert tree(File(nodes).written()) == File(nodes)


PIECES = [*'ab{}[]<>?=,;:|()"\\ \n/*01x-.', "0∞", "0x∞", r'"\uD83D', r'\uDE00"']


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_a_tree_or_an_error_with_a_place(text):
    try:
        found = tree(text.replace("∞", "7" * 5_000))  # more digits than Python makes a number of
    except ConfigSyntaxError:
        return  # and no other error
    assert tree(found.written()) == found
