"""The decorators that compute digests: hash and hmac."""

import hashlib
import hmac
import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators import hash as hash_step
from decorators import hmac as hmac_step
from decorators.hash import Hash
from decorators.hmac import Hmac
from ingest.catalog import Catalog
from ingest.config import load
from ingest.testing.events import event_of

KINDS = [(Hash, "{"), (Hmac, "{secret: s, ")]
IDS = ["hash", "hmac"]


@pytest.mark.parametrize("algorithm", list(hash_step.Algorithm))
@pytest.mark.parametrize("body", [b"", b"hello", bytes(range(256))])
def test_digests_equal_hashlib(attributes_after, algorithm, body):
    found = attributes_after(Hash, f"{{algorithm: {algorithm}, attribute: h}}", body)
    assert found == {"h": hashlib.new(algorithm, body).hexdigest().encode()}


@pytest.mark.parametrize("algorithm", list(hmac_step.Algorithm))
@pytest.mark.parametrize("body", [b"", b"hello", bytes(range(256))])
def test_hmacs_equal_the_library(attributes_after, algorithm, body):
    found = attributes_after(Hmac, f"{{secret: schlüssel, algorithm: {algorithm}, attribute: h}}", body)
    assert found == {"h": hmac.new("schlüssel".encode(), body, algorithm.value).hexdigest().encode()}


def test_rfc_4231_case_2(attributes_after):
    found = attributes_after(Hmac, "{secret: Jefe, attribute: h}", b"what do ya want for nothing?")
    assert found == {"h": b"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}


@given(st.binary(), st.text(st.characters(exclude_categories=["Cs"])))
def test_salt_precedes_the_value(value, salt):
    settings = Hash.settings_class().model_validate({"attributes": ["a"], "salt": salt})
    event = event_of("", {"a": value})
    Hash(settings).decorate(event)
    assert event.attributes == {"a": hashlib.sha256(salt.encode() + value).hexdigest().encode()}


@pytest.mark.parametrize(("kind", "start"), KINDS, ids=IDS)
class TestWhere:
    def test_in_place_and_in_order(self, attributes_after, kind, start):
        found = attributes_after(kind, start + "attributes: [c, a, x]}", b"", {"a": "1", "b": "2", "c": "1"})
        assert list(found) == ["a", "b", "c"]
        assert (found["a"] == found["c"] != b"1", found["b"]) == (True, b"2")

    def test_in_place_if_attributes_are_written_once(self, attributes_after, kind, start):
        assert attributes_after(kind, start + "attributes: [a]}", b"", {"a": "1"}, write_once=True)["a"] != b"1"

    def test_into_another_attribute_once(self, attributes_after, refusal_of, kind, start):
        text = start + "attribute: h, source: a}"
        assert attributes_after(kind, text, b"", {"a": "1"})["a"] == b"1"
        assert refusal_of(kind, text, b"", {"a": "1", "h": "0"}, write_once=True) == "attribute_exists"

    def test_absent_source_sets_nothing_unless_required(self, attributes_after, refusal_of, kind, start):
        assert attributes_after(kind, start + "attribute: h, source: a}", b"x") == {}
        assert refusal_of(kind, start + "attribute: h, source: a, on_missing: error}", b"x") == "no_attribute"

    def test_encodings_have_the_same_bytes(self, attributes_after, kind, start):
        raw, base64, hexadecimal = (
            attributes_after(kind, f"{start}attribute: h, encoding: {name}}}", b"x")["h"]
            for name in ("raw", "base64", "hex")
        )
        assert (base64, hexadecimal) == (b64encode(raw), raw.hex().encode())

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ("attributes: [a], attribute: b}", [("conflict", ())]),
            ("attributes: [a], source: b}", [("conflict", ())]),
            ("attribute: a, algorithm: crc32}", [("enum", ("algorithm",))]),
            ("attribute: a, encoding: octal}", [("enum", ("encoding",))]),
        ],
    )
    def test_invalid_options_are_rejected(self, errors_of, kind, start, settings, expected):
        assert errors_of(kind, start + settings) == expected


def test_hmac_needs_a_key(errors_of):
    assert errors_of(Hmac, "{attribute: a}") == [("missing", ("secret",))]
    assert errors_of(Hmac, "{attribute: a, secret: ''}") == [("too_short", ("secret",))]


class TestSecrets:
    @pytest.fixture
    def write(self, tmp_path):
        def write(decorator):
            content = {
                "version": 1,
                "secrets": {"directory": str(tmp_path / "secrets")},
                "stores": {"logs": {"memory": {}}},
                "pipelines": {
                    "p": {
                        "source": {"files": {"path": "in"}},
                        "decorators": [decorator],
                        "sinks": [{"attr2hbase": {"table": "t"}}],
                    }
                },
            }
            (tmp_path / "secrets").mkdir(exist_ok=True)
            (tmp_path / "secrets" / "pseudonyms").write_text("open sesame")
            (tmp_path / "p.yaml").write_text(json.dumps(content))
            return load(tmp_path / "p.yaml", env={}, lookup=Catalog())

        return write

    @pytest.mark.parametrize(("kind", "option"), [("hmac", "secret"), ("hash", "salt")])
    def test_secret_is_resolved_and_never_shown(self, write, kind, option):
        configuration = write({kind: {option: "${secret:pseudonyms}", "attributes": ["a"]}})
        (decorator,) = configuration.pipelines["p"].decorators
        assert getattr(decorator.settings, option).get_secret_value() == "open sesame"
        assert (
            "open sesame" not in repr(configuration) + repr(decorator.settings) + decorator.settings.model_dump_json()
        )

    @pytest.mark.parametrize(("kind", "option"), [("hmac", "secret"), ("hash", "salt")])
    def test_literal_secret_is_rejected_and_not_shown(self, write, kind, option):
        with pytest.raises(Exception, match=r"a secret of .* is in plain text in the file") as caught:
            write({kind: {option: "open sesame", "attributes": ["a"]}})
        assert "open sesame" not in str(caught.value) + caught.value.report.to_text()
