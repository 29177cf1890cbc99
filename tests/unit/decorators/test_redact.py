"""The redact decorator."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decorators.redact import Redact
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of


def redacted(text, find=None, **options):
    """The body with all matches replaced by #."""
    settings = Redact.settings_class().model_validate({"find": find or [], "replacement": "#"} | options)
    event = event_of(text)
    assert Redact(settings).decorate(event) is True
    return event.body


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"alice@example.com", b"#"),
        (b"to <alice.b+x@mail.example.co.uk>, ok", b"to <#>, ok"),
        (b"alice@example.com-foo", b"#-foo"),
        (b"mailto:a@b.io.", b"mailto:#."),
        (b"a@b.io,c@d.io a@b.io", b"#,# #"),
        ("jörg@müller.de".encode(), b"#"),
        (b"user=alice@example.com&x", b"user=#&x"),
        (b"'alice@example.com'", b"'#'"),
        (b"a@b@c.com", b"a@#"),
        (b"alice@localhost", b"alice@localhost"),
        (b"@example.com", b"@example.com"),
        (b"a @ b.com", b"a @ b.com"),
        (b"a@b.c", b"a@b.c"),
        (b"@", b"@"),
        (b"x" * 300 + b"@a.io", b"x" * 44 + b"#"),
    ],
)
def test_email_addresses_are_redacted(text, expected):
    assert redacted(text, ["email"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"4111111111111111", b"#"),
        (b"4111 1111 1111 1111", b"#"),
        (b"4111-1111-1111-1111.", b"#."),
        (b"378282246310005", b"#"),
        (b"5555555555554444", b"#"),
        (b"2223003122003222", b"#"),
        (b"6011111111111117", b"#"),
        (b"3530111333300000", b"#"),
        (b"4222222222222", b"#"),
        (b"8171999900000000021", b"#"),
        (b"card=4111111111111111, 5555555555554444", b"card=#, #"),
        (b"4111111111111111 5555555555554444", b"# #"),
        (b"12 4111 1111 1111 1111 99", b"12 # 99"),
        (b"4111 1111 1111 1111 12/29", b"# 12/29"),
        (b"4111 1111 1111 1111 5th", b"# 5th"),
        (b"a1 4111 1111 1111 1111", b"a1 #"),
        (b"4111111111111112", b"4111111111111112"),
        (b"1308748686334000700", b"1308748686334000700"),
        (b"0000000000000000", b"0000000000000000"),
        (b"411111111111111", b"411111111111111"),
        (b"a4111111111111111", b"a4111111111111111"),
        (b"4111111111111111a", b"4111111111111111a"),
        (b"14111111111111111", b"14111111111111111"),
        (b"1.4111111111111111", b"1.4111111111111111"),
        (b"9" * 40, b"9" * 40),
    ],
)
def test_card_numbers_are_redacted(text, expected):
    assert redacted(text, ["card"]) == expected


def luhn(digits):
    """The check digit of Luhn."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return digits + str(-total % 10)


@given(st.text("0123456789", min_size=11, max_size=17), st.lists(st.integers(1, 17), max_size=4), st.sampled_from(" -"))
def test_card_numbers_are_found_in_any_grouping(digits, cuts, separator):
    number = luhn("4" + digits)
    pieces = [number[start:stop] for start, stop in zip([0, *sorted(set(cuts))], [*sorted(set(cuts)), 99], strict=True)]
    text = separator.join(piece for piece in pieces if piece)
    assert redacted(f"<{text}>".encode(), ["card"]) == b"<#>"
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert redacted(wrong.encode(), ["card"]) == wrong.encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"10.0.0.1", b"#"),
        (b"from 203.0.113.9:8080.", b"from #:8080."),
        (b"10.0.0.1, 10.0.0.2 10.0.0.3/24", b"#, # #/24"),
        (b"255.255.255.255", b"#"),
        (b"the end is 10.0.0.1.", b"the end is #."),
        (b"ip=10.0.0.1", b"ip=#"),
        (b"256.0.0.1", b"256.0.0.1"),
        (b"1.2.3", b"1.2.3"),
        (b"1.2.3.4.5", b"1.2.3.4.5"),
        (b"1.2.3.1234", b"1.2.3.1234"),
        (b"1234.1.2.3", b"1234.1.2.3"),
    ],
)
def test_ipv4(text, expected):
    assert redacted(text, ["ipv4"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"2001:db8::1", b"#"),
        (b"::1", b"#"),
        (b"from [2001:DB8::1]:443", b"from [#]:443"),
        (b"peer 2001:db8:0:0:0:0:2:1: gone", b"peer #: gone"),
        (b"::ffff:10.0.0.1,", b"#,"),
        (b"fe80::1%eth0", b"#%eth0"),
        (b"fd00::/8", b"#/8"),
        (b"at 12:30:45", b"at 12:30:45"),
        (b"00:1a:2b:3c:4d:5e", b"00:1a:2b:3c:4d:5e"),
        (b"std::cout a::", b"std::cout #"),
        (b"https://x", b"https://x"),
        (b"::", b"::"),
        (b"key: value", b"key: value"),
        (b"1:2:3:4:5:6:7:8:9", b"1:2:3:4:5:6:7:8:9"),
        (b"xfe80::1", b"xfe80::1"),
    ],
)
def test_ipv6(text, expected):
    assert redacted(text, ["ipv6"]) == expected


@given(st.ip_addresses())
def test_any_address_is_found(address):
    text = f"<{address}>".encode()
    assert redacted(text, ["ipv4", "ipv6"]) == (text if str(address) == "::" else b"<#>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"Authorization: Bearer mF_9.B5f-4.1JqM==", b"Authorization: Bearer #"),
        (b"authorization=basic YWxpY2U6c2VjcmV0", b"authorization=basic #"),
        (b'{"Authorization":"Token abcdef0123"}', b'{"Authorization":"Token #"}'),
        # RFC 9110, 11.4: parameters after the scheme, in place of one token
        (
            b'Authorization: Digest username="ann", realm="a, b", response="6629fa" from h',
            b"Authorization: Digest # from h",
        ),
        (
            b"authorization: AWS4-HMAC-SHA256 Credential=AKID/2026/s3, SignedHeaders=a;b, Signature=fe5f80\r\nHost: h",
            b"authorization: AWS4-HMAC-SHA256 #\r\nHost: h",
        ),
        (b'Authorization: OAuth realm="x",oauth_token="a\\"b",n=1\nX: 1', b"Authorization: OAuth #\nX: 1"),
        (
            b'{"Authorization":"Digest username=\\"ann\\", response=\\"6629fa\\"","x":"y"}',
            b'{"Authorization":"Digest #","x":"y"}',
        ),
        (b'{"Authorization":"Hawk id=1, mac=\\"a=\\"","x":"y"}', b'{"Authorization":"Hawk #","x":"y"}'),
        (b"Authorization: AWS AKID0123:frJIUN8D/ypK= x", b"Authorization: AWS # x"),
        (b"Authorization: Digest a=b", b"Authorization: Digest #"),
        (b"Authorization: Basic YWxpY2U= from h", b"Authorization: Basic # from h"),
        (b"authorization: none", b"authorization: none"),
        (b"bearer of bad news", b"bearer of bad news"),
        (b"basic authentication failed", b"basic authentication failed"),
        (b"?api_key=abc&page=2", b"?api_key=#&page=2"),
        (b"x-api-key: abc", b"x-api-key: #"),
        (b'{"password": "a \\"b\\" c", "x": 1}', b'{"password": "#", "x": 1}'),
        (b'{\\"password\\":\\"abc\\"}', b'{\\"password\\":\\"#\\"}'),
        (b"access_token='abc'", b"access_token='#'"),
        (b"client_secret = abc;", b"client_secret = #;"),
        (b'{\\"password\\": \\"hunter two\\"}', b'{\\"password\\": \\"#\\"}'),
        (
            b'{\\"password\\": \\"a \\\\\\"b\\\\\\" c\\", \\"x\\": \\"y\\"}',
            b'{\\"password\\": \\"#\\", \\"x\\": \\"y\\"}',
        ),
        (b"\"api_key\" : 'q r', x: 's'", b"\"api_key\" : '#', x: 's'"),
        (b"password='it\\'s' token='a \"b\" c' passwd=''", b"password='#' token='#' passwd='#'"),
        (b"'password': \\'a b\\'", b"'password': \\'#\\'"),
        (b'token="a b', b'token="# b'),
        (b"password: (x) token=[a]", b"password: # token=#"),
        (b"f(token=(a)) g(token=a) token=((a))", b"f(token=#) g(token=#) token=#)"),
        (b"token: {} token: [] token=(", b"token: {} token: [] token=("),
        (b"token: Bearer abc", b"token: Bearer #"),
        (b"passwd=abc pwd=abc", b"passwd=# pwd=abc"),
        (b"the token is gone", b"the token is gone"),
        # the limits that the page tells
        (b"bearer 123456, bearer 12345", b"bearer #, bearer 12345"),
        (b"authorization: basic 123456", b"authorization: basic #"),
        (
            b"api_key=a api-key=a apikey=a my_access_key=a secret_key=a",
            b"api_key=# api-key=# apikey=# my_access_key=# secret_key=#",
        ),
        (
            b"reset_token=a client_secret=a passwd=a db.password:a",
            b"reset_token=# client_secret=# passwd=# db.password:#",
        ),
        (b"pwd=a pass=a key=a tokens=a", b"pwd=a pass=a key=a tokens=a"),
        (b"AKIA" + b"A" * 16 + b" ASIA" + b"A" * 15, b"# ASIA" + b"A" * 15),
        (b"ghp_" + b"a" * 30 + b" ghr_" + b"a" * 29, b"# ghr_" + b"a" * 29),
        (b"xoxb-" + b"a" * 10 + b" xoxp-" + b"a" * 9, b"# xoxp-" + b"a" * 9),
        (b"sk_live_" + b"a" * 16 + b" rk_test_" + b"a" * 15, b"# rk_test_" + b"a" * 15),
        (b"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_-1 end", b"jwt # end"),
        (b"x-eyJab.eyJcd.ef eyJ-eyJ-a.eyJb.c xeyJa.eyJb.c", b"x-# eyJ-# xeyJa.eyJb.c"),
        (b"AKIAIOSFODNN7EXAMPLE", b"#"),
        (b"ghp_" + b"a1" * 18, b"#"),
        (b"xoxb-123456789012-abc", b"#"),
        (b"sk_live_" + b"a" * 24, b"#"),
        (b"a high mark", b"a high mark"),
    ],
)
def test_tokens_are_redacted(text, expected):
    assert redacted(text, ["token"]) == expected


@pytest.mark.parametrize(
    ("patterns", "text", "expected"),
    [
        (["\\d{3}-\\d{4}"], b"call 555-1234 or 555-9876", b"call # or #"),
        (["user=(\\w+)"], b"user=alice, user=bob", b"user=#, user=#"),
        (["user=(\\w+)( \\d+)?"], b"user=alice 7", b"user=# 7"),
        (["(a)?b"], b"ab b", b"#b b"),
        (["a", "b"], b"abc", b"##c"),
        (["\\xff+"], b"a\xff\xffb", b"a#b"),
        (["[ö]x"], "öx ¶x".encode(), "# ¶x".encode()),
        (["ä(.)ü"], "äöü".encode(), "ä#ü".encode()),
    ],
)
def test_matches_of_custom_patterns_are_redacted(patterns, text, expected):
    assert redacted(text, patterns=patterns) == expected


@pytest.mark.parametrize(
    ("keep_last", "find", "text", "expected"),
    [
        (4, ["card"], b"4111 1111 1111 1111", b"#1111"),
        (4, ["email"], b"alice@example.com", b"#.com"),
        (4, ["token"], b"api_key=abcdef", b"api_key=#cdef"),
        (4, ["token"], b"api_key=abcd", b"api_key=#"),
        (16, ["ipv4"], b"10.0.0.1", b"#"),
        (2, ["token"], "api_key=abäö".encode(), "api_key=#äö".encode()),
        (3, ["token"], "api_key=äöü".encode(), b"api_key=#"),
    ],
)
def test_last_characters_are_kept(keep_last, find, text, expected):
    assert redacted(text, find, keep_last=keep_last) == expected


@pytest.mark.parametrize(
    "text", ["é" * 200 + "@b.de", "x" + "é" * 200 + "@b.de", "a@b.de" + "日本" * 40, "a@b.com" + "日本" * 40]
)
def test_no_end_of_an_email_address_is_inside_of_a_character(text):
    assert redacted(text.encode(), ["email"]).decode() != text


def test_all_at_once():
    line = b"10.0.0.1 ::1 alice@example.com 4111-1111-1111-1111 token=abc id=7"
    assert redacted(line, ["email", "card", "ipv4", "ipv6", "token"]) == b"# # # # token=# id=7"


def test_only_the_selected_attributes_are_redacted(attributes_after):
    text = "{find: [ipv4], attributes: ['*']}"
    assert attributes_after(Redact, text, "10.0.0.1", {"a": "10.0.0.1", "b": "x"}) == {"a": b"[redacted]", "b": b"x"}
    text = "{find: [ipv4], attributes: [b, c]}"
    assert attributes_after(Redact, text, "", {"a": "10.0.0.1", "b": "10.0.0.1"})["a"] == b"10.0.0.1"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("password", "a b, c", "#"),
        ("2hb_l:API-Key", "x", "#"),
        ("u.access_token", '{"id": 7}', "#"),
        ("passwords", "x", "x"),
        ("password", "", ""),
        ("Authorization", "Basic YTpiCg", "Basic #"),
        ("proxy-authorization", "Bearer abcdef", "Bearer #"),
        ("authorization", 'Digest username="ann", response="6629"', "Digest #"),
        ("authorization", "none", "none"),
    ],
)
@pytest.mark.parametrize("attributes", ["'*'", None])
def test_names_of_attributes_are_keys(attributes_after, name, value, expected, attributes):
    text = f"{{find: [token], attributes: [{attributes or name}], replacement: '#'}}"
    assert attributes_after(Redact, text, "", {name: value})[name] == expected.encode()
    assert attributes_after(Redact, "{find: [email], attributes: ['*']}", "", {name: value})[name] == value.encode()


def test_keep_last_keeps_the_end_of_the_secret(attributes_after):
    text = "{find: [token], attributes: [password], replacement: '*', keep_last: 2}"
    assert attributes_after(Redact, text, "", {"password": "abcdef", "other": "1"}) == {
        "password": b"*ef",
        "other": b"1",
    }


@pytest.mark.parametrize(
    ("options", "body", "attribute"),
    [
        ("", b"#", b"10.0.0.1"),
        ("body: true", b"#", b"10.0.0.1"),
        ("attributes: [a]", b"10.0.0.1", b"#"),
        ("attributes: [a], body: false", b"10.0.0.1", b"#"),
        ("attributes: [a], body: true", b"#", b"#"),
        ("attributes: ['*']", b"10.0.0.1", b"#"),
    ],
)
def test_named_attributes_replace_the_body(options, body, attribute):
    settings = settings_of(Redact.settings_class(), f"{{find: [ipv4], replacement: '#', {options}}}")
    event = event_of("10.0.0.1", {"a": "10.0.0.1"})
    Redact(settings).decorate(event)
    assert (event.body, event.attributes) == (body, {"a": attribute})


def test_in_place_if_attributes_are_written_once(attributes_after):
    text = "{find: [ipv4], attributes: [a]}"
    assert attributes_after(Redact, text, "", {"a": "10.0.0.1"}, write_once=True) == {"a": b"[redacted]"}


@given(st.text("ghijklmnop .,_-\n").map(str.encode))
def test_text_without_a_match_is_unchanged(text):
    assert redacted(text, ["email", "card", "ipv4", "ipv6", "token"]) == text


@given(st.binary(max_size=60), st.sampled_from([b"alice@example.com", b"4111111111111111", b"10.0.0.1", b"::1"]))
def test_data_between_any_bytes_is_redacted(text, private):
    assert private not in redacted(text + b" " + private + b" " + text, ["email", "card", "ipv4", "ipv6"])


@given(st.text(), st.integers(0, 3))
@example('a "b" \\', 3)
def test_secret_in_json_is_redacted_at_any_depth(secret, depth):
    def nested(value):
        text = json.dumps({"user": "x y", "password": value, "id": [1, "z"]})
        for _ in range(depth):
            text = json.dumps(text)
        return text.encode()

    assert redacted(nested(secret), ["token"]) == nested("#")


@given(st.text(), st.sampled_from("\"'"))
def test_quoted_secret_is_redacted(secret, quote):
    written = secret.replace("\\", "\\\\").replace(quote, "\\" + quote)
    text = f"password={quote}{written}{quote} id={quote}7{quote}"
    assert redacted(text.encode(), ["token"]) == f"password={quote}#{quote} id={quote}7{quote}".encode()


@given(st.text("0123456789abcdef:.@- \n=token", max_size=80))
@example("::" * 40)
def test_similar_text_causes_no_error(text):
    redacted(text.encode(), ["email", "card", "ipv4", "ipv6", "token"])


PIECES = [
    *(b"a", b"a.", b"@", b"a@", b"a@b.", b"1", b"1 ", b"1.", b":", b"a:", b"token", b"bearer ", b"=", b'"', b"\\"),
    *(b"eyJ-", b"eyJa.eyJ-", b"token=(", b'token="', b"token='\\", b'token=\\"', b"token=\\\\\\'", b"token='x\\'y "),
]


@pytest.mark.parametrize("piece", PIECES)
def test_no_text_takes_quadratic_time(piece):
    """A quadratic search would take minutes."""
    text = piece * (500_000 // len(piece))
    assert redacted(text, ["email", "card", "ipv4", "ipv6", "token"])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{find: [phone]}", [("enum", ("find", 0))]),
        ("{patterns: ['(']}", [("bad_pattern", ("patterns", 0))]),
        ("{find: [email], body: false}", [("missing", ())]),
        ("{find: [email], attributes: []}", [("too_short", ("attributes",))]),
        ("{find: [email], attributes: ['*', a]}", [("conflict", ())]),
        ("{find: [email], keep_last: 17}", [("less_than_equal", ("keep_last",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Redact, settings) == expected


def test_defaults_mask_whole_matches_in_the_body():
    settings = settings_of(Redact.settings_class(), "{find: [email, card]}")
    assert (settings.replacement, settings.keep_last, settings.changes_body) == ("[redacted]", 0, True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"user": "ann", "card": 4111111111111111}', '{"user": "ann", "card": "[redacted]"}'),
        ('{"next_token":null}', '{"next_token":"[redacted]"}'),
        (' [{"token": true,"n":1}]', ' [{"token": "[redacted]","n":1}]'),
        ('{"refresh_token": {"a": 4111111111111111}}', '{"refresh_token": {"a": "[redacted]"}}'),
        ('{"token": [1, 2], "api_key": 5}', '{"token": [1, 2], "api_key": "[redacted]"}'),
        ('[4111111111111111, "a 4111111111111111"]', '["[redacted]", "a [redacted]"]'),
        ("[info] token=5 card 4111 1111 1111 1111", "[info] token=[redacted] card [redacted]"),
    ],
)
def test_json_stays_valid(body, expected):
    event = event_of(body.encode())
    Redact(settings_of(Redact.settings_class(), "{find: [card, token, email]}")).decorate(event)
    assert event.body == expected.encode()


CARD, SECRET = 4111111111111111, "hunter2hunter2"
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(CARD),
    st.just(str(CARD)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
)
KEYS = st.one_of(st.text(max_size=5), st.sampled_from(["next_token", "card", "api_key"]))
TREES = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4))
)


@given(
    st.dictionaries(KEYS, TREES, max_size=4),
    st.integers(0, 4),
    st.booleans(),
    st.sampled_from(["[redacted]", "", '"', "\\", "null"]),
)
def test_any_json_stays_valid_without_secrets(content, keep, ascii_only, replacement):
    content["password"] = SECRET
    body = json.dumps(content, ensure_ascii=ascii_only).encode()
    event = event_of(body)
    options = json.dumps({"find": ["card", "token"], "replacement": replacement, "keep_last": keep})
    Redact(settings_of(Redact.settings_class(), options)).decorate(event)
    json.loads(event.body)
    assert SECRET.encode() not in event.body
    assert str(CARD).encode() not in event.body


class TestGrowth:
    """Replacements are limited before the text is there."""

    @pytest.fixture(autouse=True)
    def low(self, monkeypatch):
        for module in ("ingest.api.growth", "ingest.expressions.pattern"):
            monkeypatch.setattr(f"{module}.MAX_GROWN_BYTES", 1_000)

    @pytest.mark.parametrize(
        ("find", "text"),
        [
            ("email", b"a@b.io "),
            ("card", b"4111111111111111,"),
            ("ipv4", b"1.2.3.4 "),
            ("ipv6", b"1::2 "),
            ("token", b"token=x "),
        ],
    )
    def test_replacements_of_a_text(self, find, text):
        long = {"replacement": "x" * 300}
        assert redacted(text * 3, [find], **long).count(b"x") >= 900
        with pytest.raises(DecorateError, match="would become one of more than") as caught:
            redacted(text * 4, [find], **long)
        assert caught.value.code == "too_large"

    def test_a_text_that_fails_does_not_count_for_the_next_ones(self):
        options = f"{{find: [ipv6], replacement: {'x' * 300}}}"
        decorator = Redact(settings_of(Redact.settings_class(), options))
        with pytest.raises(DecorateError, match="would become"):
            decorator.decorate(event_of(b"1::2 " * 4))
        for _ in range(9):
            assert decorator.decorate(event_of(b"1::")) is True

    def test_each_text_has_the_limit_of_its_own(self):
        settings = settings_of(
            Redact.settings_class(), f"{{find: [ipv4], attributes: ['*'], replacement: {'x' * 300}}}"
        )
        event = event_of(b"", {str(number): b"1.2.3.4" for number in range(9)})
        assert Redact(settings).decorate(event) is True
        assert set(event.attributes.values()) == {b"x" * 300}

    def test_values_with_names_of_keys(self):
        options = f"{{find: [token], attributes: ['*'], keep_last: 1, replacement: {'x' * 300}}}"
        decorator = Redact(settings_of(Redact.settings_class(), options))
        for _ in range(2):
            assert decorator.decorate(event_of(b"", {f"{number}_token": b"ab" for number in range(3)})) is True
        with pytest.raises(DecorateError, match="would become"):
            decorator.decorate(event_of(b"", {f"{number}_token": b"ab" for number in range(4)}))
        # large values may become four times as large
        assert decorator.decorate(event_of(b"", {f"{number}_token": b"ab" * 50 for number in range(4)})) is True

    @pytest.mark.parametrize(
        "options", ["patterns: ['[0-9]']", "patterns: ['([0-9])']", "patterns: ['([1-3])|([4-9])'], keep_last: 2"]
    )
    def test_patterns_have_the_limit_of_a_text_too(self, options):
        options = f"{{{options}, replacement: {'x' * 300}}}"
        decorator = Redact(settings_of(Redact.settings_class(), options))
        for _ in range(9):
            assert decorator.decorate(event_of(b"1 2 3")) is True
        with pytest.raises(DecorateError, match="would become"):
            decorator.decorate(event_of(b"1 2 3 4"))


@pytest.mark.parametrize(
    "text",
    [
        b'authorization: d a="' * 20_000,
        b'authorization: d a=\\"' * 20_000,
        b"authorization: d " + b"a=b, " * 50_000 + b'"',
        b"authorization: d " + b'a="b", ' * 50_000 + b'c="',
        b"authorization: " * 30_000,
        b"authorization: d " + b"a-" * 100_000,
    ],
)
def test_authorization_takes_linear_time(text):
    # the square of it would take minutes, and ends in `decorator_timeout`
    assert redacted(text, ["token"])
