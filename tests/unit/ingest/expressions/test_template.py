"""Templates: Flume's escapes and our extensions."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Event, ExpressionError, Origin, Priority
from ingest.decorating.choices import FailureAction, OnMissing
from ingest.expressions import CORE_NAMES, ExpressionSyntaxError, Template
from tests.support.reads import Reads

TIME_MS = 1_309_275_728_123  # 2011-06-28T15:42:08.123Z, a Tuesday


def event(**attributes: bytes) -> Event:
    return Event(
        b"the body",
        attributes,
        timestamp_ms=TIME_MS,
        nanos=42,
        host="web1",
        priority=Priority.WARN,
        key=b"k1",
        origin=Origin("ticks", 3, 7),
    )


def rendered(text: str, of: Event | None = None) -> bytes:
    return Template.parse(text).render(of if of is not None else event())


class TestEscapesOfFlume:
    """The table of escapes in Flume's user guide, and its examples."""

    @pytest.mark.parametrize(
        ("tag", "expected"),
        [
            ("%{host}", b"web1"),
            ("%{hostname}", b"web1"),
            ("%{nanos}", b"42"),
            ("%{priority}", b"WARN"),
            ("%{body}", b"the body"),
            ("%{timestamp}", b"1309275728123"),
            ("%{other}", b"attribute"),
            ("%%", b"%"),
            ("%a", b"Tue"),
            ("%A", b"Tuesday"),
            ("%b", b"Jun"),
            ("%B", b"June"),
            ("%c", b"Tue Jun 28 15:42:08 2011"),
            ("%d", b"28"),
            ("%m", b"06"),
            ("%y", b"11"),
            ("%Y", b"2011"),
            ("%j", b"179"),
            ("%D", b"06/28/11"),
            ("%H", b"15"),
            ("%I", b"03"),
            ("%k", b"15"),
            ("%l", b"3"),
            ("%M", b"42"),
            ("%S", b"08"),
            ("%p", b"PM"),
            ("%s", b"1309275728"),
            ("%t", b"1309275728123"),
            ("%z", b"+0000"),
        ],
    )
    def test_tag_renders_alone_and_within_text(self, tag: str, expected: bytes) -> None:
        of = event(other=b"attribute")
        assert rendered(tag, of) == expected
        assert rendered(f"<{tag}|{tag}>", of) == b"<" + expected + b"|" + expected + b">"

    def test_doubled_percent_hides_a_tag(self) -> None:
        assert rendered("%%{henry}") == b"%{henry}"

    def test_zero_is_written(self) -> None:
        of = Event(b"", origin=Origin("ticks", 0, 0))
        assert rendered("%{partition}:%{offset}|%{timestamp}:%{nanos}", of) == b"0:0|0:0"

    def test_unknown_attribute_is_empty(self) -> None:
        assert rendered("/h/%{unknown}/t") == b"/h//t"

    def test_result_is_not_expanded_again(self) -> None:
        assert rendered("%{body}", Event(b"%{host}")) == b"%{host}"

    def test_date_path_is_rendered(self) -> None:
        assert rendered("%Y-%m-%d/%H00") == b"2011-06-28/1500"

    @pytest.mark.parametrize("text", [r"$1\1", "$", "\\"])
    def test_dollar_and_backslash_are_literal(self, text: str) -> None:
        assert rendered(f"{text}%{{x}}", event(x=text.encode())) == (text * 2).encode()

    def test_missing_host_is_empty(self) -> None:
        assert rendered("[%{host}]", Event(b"")) == b"[]"

    @pytest.mark.parametrize("text", ["%", "% ", "%{}", "%{a:b}", "%é", "%P", "%{weekday_short"])
    def test_unknown_escape_is_an_error(self, text: str) -> None:
        with pytest.raises(ExpressionSyntaxError):
            Template.parse(text)

    def test_quoted_name_is_always_an_attribute(self) -> None:
        assert rendered("%{'2hb_cf:q'}", Event(b"", {"2hb_cf:q": b"v"})) == b"v"
        assert rendered("%{2hb_}", Event(b"", {"2hb_": b"row"})) == b"row"


class TestPartsOfTheEvent:
    @pytest.mark.parametrize(
        ("tag", "expected"),
        [("%{topic}", b"ticks"), ("%{partition}", b"3"), ("%{offset}", b"7"), ("%{key}", b"k1")],
    )
    def test_place_in_kafka(self, tag: str, expected: bytes) -> None:
        assert rendered(tag) == expected

    @pytest.mark.parametrize("name", CORE_NAMES)
    def test_core_name_precedes_an_attribute_unless_quoted(self, name: str) -> None:
        of = event(**{name: b"attribute"})
        assert rendered(f"%{{{name}}}", of) != b"attribute"
        assert rendered(f"%{{'{name}'}}", of) == b"attribute"


class TestBytes:
    @given(st.binary(), st.binary(), st.text(max_size=5).filter(lambda text: "%" not in text))
    def test_any_bytes_pass_unchanged(self, value: bytes, body: bytes, text: str) -> None:
        of = Event(body, {"x": value})
        between = text.encode("utf-8", "surrogatepass")
        assert rendered("%{x}", of) == value
        assert rendered(f"{text}%{{x}}", of) == between + value
        assert rendered(f"%{{x}}{text}", of) == value + between
        assert rendered(f"{text}%{{x}}{text}", of) == between + value + between
        assert rendered(f"%{{x}}{text}%{{body}}", of) == value + between + body
        assert rendered(f"%{{x}}{text}%{{body}}%%%{{x}}", of) == value + between + body + b"%" + value
        assert rendered("%{x}%{body}%{x}%{body}", of) == (value + body) * 2

    @given(st.binary())
    def test_attribute_name_that_is_not_utf8(self, name: bytes) -> None:
        of = Event(b"", {name.decode("utf-8", "surrogateescape"): b"v"})
        text = name.decode("utf-8", "surrogateescape").replace("'", "''")
        assert rendered(f"%{{'{text}'}}", of) == b"v"

    @given(st.text())
    def test_any_text_compiles_or_is_a_syntax_error(self, text: str) -> None:
        try:
            Template.parse(text).render(event())
            column = 1
        except ExpressionSyntaxError as error:
            column = error.column
        assert 1 <= column <= len(text) + 1

    @given(
        st.text(alphabet=st.sampled_from("%{}()',aY01 "), max_size=12),
        st.sampled_from(["lower", "date", "substring", "add", "extract", "decode", "md5", "uuid", "default"]),
    )
    def test_any_call_compiles_or_is_a_syntax_error(self, inside: str, function: str) -> None:
        text = f"%{{{function}({inside})}}"
        column, code = 1, ""
        try:
            Template.parse(text).render(event(a=b"1"))
        except ExpressionSyntaxError as error:
            column = error.column
        except ExpressionError as error:
            code = error.code
        assert 1 <= column <= len(text) + 1
        assert code in {"", "not_a_number", "time_out_of_range"}


class TestConstant:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", b""),
            ("mytable", b"mytable"),
            ("100%%", b"100%"),
            ("%{upper('x')}-%{add(1, 2)}", b"X-3"),
            ("%{decode('00', 'hex')}", b"\x00"),
        ],
    )
    def test_is_known_before_the_first_event(self, text: str, expected: bytes) -> None:
        template = Template.parse(text)
        assert template.constant == expected
        assert template.render(event()) == expected
        assert template.references == frozenset()

    @pytest.mark.parametrize("text", ["%{x}", "a%Y", "%{uuid()}", "%{date('%Y')}", "%{lower(host)}"])
    def test_is_none_if_it_reads_the_event(self, text: str) -> None:
        assert Template.parse(text).constant is None


class TestReferences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("%{nanos}", {"nanos"}),
            ("%{hostname}-%{x}", {"host", "attribute:x"}),
            ("%{'nanos'}", {"attribute:nanos"}),
            ("%Y", {"timestamp"}),
            ("%t", {"timestamp"}),
            ("%{date('%Y')}", {"timestamp"}),
            ("%{date(seen, '%Y')}", {"attribute:seen"}),
            ("%{uuid()}", {"topic", "partition", "offset", "fan_out"}),
            ("%{lower(concat(x, topic))}", {"attribute:x", "topic"}),
        ],
    )
    def test_are_all_names_it_reads(self, text: str, expected: set[str]) -> None:
        assert Template.parse(text).references == expected


TAGS = ("text", "%%", "%{a}", "%{lower(a)}", "%{add(a, 1)}", "%{sha256(a)}", "%{body}", "%Y", "%{upper(body)}")


class TestMissing:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("constant", None),
            ("%{host}", None),
            ("%{a}-%{b}", "b"),
            ("%{a}-%Y", None),
            ("%{'c:d'}-%{b}", "c:d"),
            ("%{lower(b)}", "b"),
            ("%{lower(a)}", None),
            ("%{default(b, 'x')}", None),
            ("%{default(b, c)}", "b"),
            ("%{concat(a, b)}", None),
            ("%{a}%{upper(lower(b))}", "b"),
        ],
    )
    def test_error_names_the_first_absent_attribute(self, text: str, expected: str | None) -> None:
        given, template = event(a=b""), Template.parse(text)
        if expected is None:
            assert [template.renderer(on_missing)(given) for on_missing in OnMissing] == [template.render(given)] * 3
            return
        assert template.renderer(OnMissing.EMPTY)(given) == template.render(given)
        assert template.renderer(OnMissing.UNSET)(given) is template.renderer(FailureAction.DROP)(given) is None
        with pytest.raises(ExpressionError, match=f'no attribute "{expected}" for the template') as raised:
            template.renderer(FailureAction.ERROR)(given)
        assert raised.value.code == "no_attribute"

    @given(st.lists(st.sampled_from(TAGS), max_size=6), st.booleans(), st.sampled_from(OnMissing))
    def test_every_part_is_evaluated_once(self, tags: list[str], is_there: bool, on_missing: OnMissing) -> None:
        reads = Reads({"a": b"1"} if is_there else {})
        of = Event(b"body", reads, timestamp_ms=TIME_MS)
        try:
            found = Template.parse("-".join(tags)).renderer(on_missing)(of)
        except ExpressionError:
            found = None
        expected = sum("a" in tag for tag in tags)
        if is_there or not expected or on_missing is OnMissing.EMPTY:
            assert found == Template.parse("-".join(tags)).render(Event(b"body", dict(reads), timestamp_ms=TIME_MS))
            assert reads.of["a"] == expected
        else:
            assert (found, reads.of["a"]) == (None, 1)

    def test_absent_attribute_precedes_an_error_of_another_part(self) -> None:
        too_late = Event(b"body", {"a": b"1"}, timestamp_ms=1 << 62)
        assert Template.parse("%Y-%{b}").renderer(OnMissing.UNSET)(too_late) is None
        with pytest.raises(ExpressionError) as raised:
            Template.parse("%Y-%{a}").renderer(OnMissing.UNSET)(too_late)
        assert raised.value.code == "time_out_of_range"

    def test_absent_part_without_attributes_is_empty(self) -> None:
        template = Template.parse("%{extract(body, '(x)|b', 1)}|%{a}")
        assert template.renderer(OnMissing.ERROR)(event(a=b"1")) == b"|1"

    def test_absent_arguments_make_the_result_absent(self) -> None:
        assert rendered("[%{upper(b)}|%{add(b, 1)}|%{date(b, '%Y')}]") == b"[||]"


class TestValue:
    def test_is_equal_by_text_and_zone(self) -> None:
        assert Template.parse("%{x}") == Template.parse("%{x}")
        assert hash(Template.parse("%{x}")) == hash(Template.parse("%{x}"))
        assert Template.parse("%H", "UTC") != Template.parse("%H", "Asia/Tokyo")

    def test_is_pickled_as_text_and_zone(self) -> None:
        template = Template.parse("%{x}/%H", "Asia/Tokyo")
        again = pickle.loads(pickle.dumps(template))  # noqa: S301 - our own bytes
        assert again == template
        assert again.render(event(x=b"a")) == b"a/00"

    def test_error_of_an_event_does_not_contain_the_template(self) -> None:
        with pytest.raises(ExpressionError, match='no attribute "user"') as raised:
            Template.parse("%{hmac_sha256(user, 'pepper')}").renderer(OnMissing.ERROR)(event())
        assert "pepper" not in str(raised.value)

    def test_shows_as_its_text(self) -> None:
        assert str(Template.parse("%{x}")) == "%{x}"

    def test_unknown_zone_is_an_error_at_the_date(self) -> None:
        assert Template.parse("no date", "Nowhere").render(event()) == b"no date"
        with pytest.raises(ExpressionSyntaxError) as raised:
            Template.parse("%{x}%H", "Europe/Berln")
        assert raised.value.column == 5
        assert 'did you mean "Europe/Berlin"' in raised.value.message
