"""Any text is imported as a valid pipeline file, or has problems with places."""

from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import ConfigError, ConfigSyntaxError
from ingest.catalog import Catalog
from ingest.flume import import_flume
from ingest.flume.og.decorators import LEFT_OUT, TRANSLATED
from ingest.flume.og.tree import Call, Chain, Failover, FanOut, Scope, Text

NUMBERS = ["0", "1", "-1", "9" * 20, "∞", ".5"]
EXPRESSIONS = [
    "(", "(a)(b)?", "[ä]", "é+", r"\p{L}", r"\\Q", "(?i)a", "(?<n>a)", "$", "*", "a{2,1}", "a{∞}", "[",
    r"\x{FFFFFF}", r"\uD83D\uDE00", r"\uD83D",
]  # fmt: skip
ODD = [
    *NUMBERS, *EXPRESSIONS, "", "2hb_", "2hb_f:q", "f:q", "f", ":", "a:b:c", "true",
    "%{host}", "%{a:b}", "%P%", "${x}", "${env:A:-b}${sys:c}", "MD5",
    "yyyy-MM-dd", "x\ny", "\0", "\N{GRINNING FACE}", "a b", "hbase:meta",
    "'", "\ud83d", "\x0c", "\u2028",
]  # fmt: skip


def lengthened(text):
    """With more digits than Python makes a number of."""
    return text.replace("∞", "7" * 5_000)


texts = (st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)).map(lengthened)
arguments = st.builds(Text, texts) | st.builds(Call, st.just("fn"))
keywords = st.dictionaries(
    st.sampled_from(["escape", "base64", "writeToWal", "writeBufferSize", "x"]), arguments, max_size=2
)


def calls(names, most):
    return st.builds(Call, st.sampled_from(names), st.lists(arguments, max_size=most).map(tuple), keywords)


def of(*several):
    return st.tuples(*(st.builds(Text, st.sampled_from(odd).map(lengthened)) for odd in several))


decorators = (
    calls([*TRANSLATED, *LEFT_OUT, "zap"], 4)
    | st.builds(Call, st.sampled_from(["regex", "split"]), of(EXPRESSIONS, NUMBERS, ODD))
    | st.builds(Call, st.just("regexAll"), of(EXPRESSIONS, ODD))
)
sinks = st.one_of(
    st.just(Call("attr2hbase", (Text("t"),))),
    calls(["attr2hbase", "hbase", "hbase", "console", "zap"], 8),
)


def groups(inner):
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Chain, st.lists(decorators, min_size=1, max_size=4).map(tuple), inner)
        .filter(lambda chain: not isinstance(chain.sink, Chain)),
        st.builds(FanOut, several),
        st.builds(lambda a, b: Failover((a, b)), inner, inner),
        st.builds(Scope, calls(["roll", "collector"], 2), inner),
    )  # fmt: skip


def runs(text):
    try:
        result = import_flume(text, "old", zone="UTC", lookup=Catalog())
    except ConfigError as error:
        problems = error.report.to_json() if error.report else []
        # what was read is no matter of syntax any more: that would be about the file that was made
        of_this = isinstance(error, ConfigSyntaxError) or all(problem["kind"] != "syntax" for problem in problems)
        return of_this and bool(problems) and all(problem["file"] == "old" for problem in problems)
    return bool(result.entries)


@given(st.recursive(sinks, groups, max_leaves=5))
def test_any_flow_is_imported_or_refused(tree):
    assert runs(tree.written())


@given(st.lists(st.sampled_from([*'ab02()"\\,= {}[]<>?%$|;:\n#!.\x0c\u2028', "0∞", "0x∞", r"\uD83D"])).map("".join))
@example("a.sinks")
@example("a.sinks=")
@example(".sinks = x\n.sources = y")
def test_any_text_is_imported_or_refused(text):
    assert runs(lengthened(text))


NAMES = {
    "a.sources.r.type": ["kafka", "netcat", "org.apache.flume.source.kafka.KafkaSource"],
    "a.sources.r.kafka.bootstrap.servers": ["localhost:1", "k:9092,l:9092", "k", "${K}:9092,${env:L}"],
    "a.sources.r.kafka.topics": ["a", "a, b", "ä", "a, ${T}"],
    "a.sources.r.kafka.topics.regex": ["a.*", "("],
    "a.sources.r.kafka.consumer.security.protocol": ["SSL", "SASL_SSL", "SASL_PLAINTEXT"],
    "a.sources.r.kafka.consumer.sasl.mechanism": ["PLAIN", "GSSAPI", "OAUTHBEARER"],
    "a.sources.r.header.x": ["host", "y", "${y}"],
    "a.sources.r.interceptors.i.type": [
        "timestamp",
        "host",
        "static",
        "regex_filter",
        "regex_extractor",
        "search_replace",
        "remove_header",
        "uuid",
        "x.UUIDInterceptor$Builder",
    ],
    "a.sources.r.interceptors.i.regex": EXPRESSIONS,
    "a.sources.r.interceptors.i.serializers": ["s", "s t"],
    "a.sources.r.interceptors.i.serializers.s.name": ODD,
    "a.sources.r.interceptors.i.serializers.s.type": ["DEFAULT", "x.RegexExtractorInterceptorMillisSerializer"],
    "a.sources.r.interceptors.i.serializers.s.pattern": ["yyyy-MM-dd", "'", "QQ", "%", "HH"],
    "a.sources.r.interceptors.i.searchPattern": EXPRESSIONS,
    "a.sources.r.interceptors.i.replaceString": ODD,
    "a.sources.r.interceptors.i.fromList": ["a,b", "a"],
    "a.sources.r.interceptors.i.fromListSeparator": ODD,
    "a.sources.r.interceptors.i.matching": EXPRESSIONS,
    "a.sources.r.interceptors.i.key": ODD,
    "a.sources.r.interceptors.i.value": ODD,
    "a.channels.c.type": ["memory", "org.apache.flume.channel.kafka.KafkaChannel"],
    "a.channels.c.kafka.bootstrap.servers": ["localhost:1"],
    "a.sinks.k.table": ODD,
    "a.sinks.k.columnFamily": ODD,
    "a.sinks.k.serializer": ["x.RegexHBase2EventSerializer", "SimpleHbaseEventSerializer", "x.Mine"],
    "a.sinks.k.serializer.regex": EXPRESSIONS,
    "a.sinks.k.serializer.colNames": ["a", "a,b", "ROW_KEY,a", ",,", "a,"],
    "a.sinks.k.serializer.rowKeyIndex": ["0", "1", "-1", "x"],
    "a.sinks.k.serializer.depositHeaders": ["true"],
    "a.sinks.k.serializer.rowPrefix": ODD,
    "a.sinks.k.serializer.suffix": ["uuid", "nano", "random", "timestamp", "x"],
}
FIXED = """\
a.sources = r
a.channels = c
a.sinks = k
a.sources.r.channels = c
a.sources.r.interceptors = i
a.sinks.k.type = hbase2
a.sinks.k.channel = c
"""


def spelled(value):
    """As Java writes it: what is not ASCII in UTF-16."""
    units = memoryview(lengthened(value).encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join(chr(unit) if 32 <= unit < 127 and unit != ord("\\") else f"\\u{unit:04x}" for unit in units)


@given(st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in NAMES.items()}))
def test_any_agent_is_imported_or_refused(options):
    lines = [f"{name} = {spelled(value)}\n" for name, value in options.items()]
    assert runs(FIXED + "".join(lines))
