"""`${…}`: variables and secrets, expanded inside scalars after parsing."""

import json
import stat

import pytest

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.nodes import compose, plain
from ingest.config.variables import Expander, NoSecrets, SecretCommand, SecretDirectory
from ingest.masks import Masks

ENV = {"HOST": "h1", "PORT": "9090", "EMPTY": "", "YES": "true", "YAML": "{a: b}", "secret": "no"}
CANARY = "c4n4ry-0815"


def expanded(text, source=None):
    problems = []
    node = Expander(ENV, source or NoSecrets(), Masks(), problems).expand(compose(f"x: {text}", "f", problems))
    return plain(node)["x"], [f"{problem.location.column}: {problem.kind}" for problem in problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${HOST}", "h1"),
        ("a-${HOST}-${PORT}", "a-h1-9090"),
        ("${PORT}", 9090),
        ('"${PORT}"', "9090"),
        ("${YES}", True),
        ("${EMPTY}", None),
        ('"${EMPTY}"', ""),
        ("${EMPTY:default}", None),
        ("${NONE:default}", "default"),
        ("${NONE:localhost:9092}", "localhost:9092"),
        ("${NONE:5}", 5),
        ('"${NONE:}"', ""),
        ("${NONE:-5}", -5),
        ("${HOST:?say which}", "h1"),
        ("$${HOST}", "${HOST}"),
        ("a$${b$${c", "a${b${c"),
        ("$$HOST $ $HOST", "$$HOST $ $HOST"),
        ("${YAML}", "{a: b}"),
        ("'%{a}${HOST}'", "%{a}h1"),
        ("[1, '${HOST}']", [1, "h1"]),
    ],
)
def test_scalar_is_expanded(text, value):
    assert expanded(text) == (value, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("${NONE}", "4: undefined-variable"),
        ("ab${NONE}", "6: undefined-variable"),
        ("'ab${NONE}'", "7: undefined-variable"),
        ("${NONE:?x}", "4: undefined-variable"),
        ("'${'", "5: bad-expression"),
        ("'${}'", "5: bad-expression"),
        ("${1}", "4: bad-expression"),
        ("${a-b}", "4: bad-expression"),
        ("${secret:a}", "4: undefined-secret"),
        ("${secret:../a}", "4: bad-expression"),
        ("${secret}", "4: bad-expression"),
        ("${secret:}", "4: bad-expression"),
    ],
)
def test_scalar_is_refused(text, problem):
    assert expanded(text)[1] == [problem]


def test_keys_are_never_expanded():
    problems = []
    node = compose("${HOST}: 1", "f", problems)
    assert plain(Expander(ENV, NoSecrets(), Masks(), problems).expand(node)) == {"${HOST}": 1}


class TestWhatTheOptionWants:
    """Inside { } the quotes are required, and the file cannot choose the type of a variable."""

    TEXT = """\
version: 1
secrets: {directory: FOLDER}
service: {http: {listen: "0.0.0.0:1", insecure: "${YES}"}}
stores: {logs: {hbase: {host: %s, port: %s, security: {insecure: "${YES}"}}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: ["${PORT}"]}}
    sinks: [{attr2hbase: {table: "%%{topic}"}}]
"""

    def load(self, tmp_path, host='"${PORT}"', port='"${PORT}"'):
        (tmp_path / "secret_port").write_text("9090")
        (tmp_path / "p.yaml").write_text((self.TEXT % (host, port)).replace("FOLDER", str(tmp_path)))
        return load(tmp_path / "p.yaml", env=ENV, lookup=Catalog())

    @pytest.mark.parametrize("port", ['"${PORT}"', '"${NONE:9090}"', "'90${NONE:90}'"])
    def test_quoted_variable_is_converted_to_the_type_of_the_option(self, tmp_path, port):
        found = self.load(tmp_path, port=port)
        store = found.stores["logs"].settings
        assert (store.host, store.port) == ("9090", 9090)
        assert found.service.http.insecure is True
        assert found.pipelines["p"].source.settings.topics == ["9090"]

    @pytest.mark.parametrize(
        ("port", "message"),
        [
            ('"${HOST}"', 'port must be a whole number, not the text "h1"'),
            ('"${EMPTY}"', 'port must be a whole number, not the text ""'),
            ('"${NONE:1.5}"', "port must be a whole number, not the number 1.5"),
            ('"${secret:secret_port}"', 'port must be a whole number, not the text "***"'),
            ('"9090"', 'port must be a whole number, not the text "9090"; remove the quotes'),
        ],
    )
    def test_variable_that_is_not_a_number_is_reported(self, tmp_path, port, message):
        with pytest.raises(ConfigError) as caught:
            self.load(tmp_path, port=port)
        assert [str(problem).partition(": wrong-type: ")[2] for problem in caught.value.report.problems] == [message]


class TestSecrets:
    def test_from_a_directory(self, tmp_path):
        (tmp_path / "pw").write_text("1234\n")
        assert expanded("${secret:pw}", SecretDirectory(str(tmp_path))) == ("1234", [])

    def test_from_a_command(self, tmp_path):
        command = tmp_path / "vault"
        command.write_text('#!/bin/sh\nprintf "%s-%s" "$1" "$2"\n')
        command.chmod(stat.S_IRWXU)
        assert expanded("a${secret:pw}", SecretCommand([str(command), "x"])) == ("ax-pw", [])

    @pytest.mark.parametrize("command", [["/bin/false"], ["/no/such"], ["/bin/sh", "-c", "true"], ["a\0b"]])
    def test_command_that_returns_no_secret(self, command):
        assert expanded("${secret:pw}", SecretCommand(command))[1] == ["4: undefined-secret"]

    @pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff", b"x" * 70_000])
    def test_file_that_contains_no_secret(self, tmp_path, content):
        if content is not None:
            (tmp_path / "pw").write_bytes(content)
        assert expanded("${secret:pw}", SecretDirectory(str(tmp_path)))[1] == ["4: undefined-secret"]


FILE = """\
version: 1
secrets: {directory: FOLDER}
stores: {logs: memory}
pipelines:
  p:
    source:
      kafka:
        brokers: "localhost:9092"
        topics: [t]
        security: {sasl: {mechanism: plain, username: "u-${secret:canary}", password: "${CANARY}"}}
    decorators:
      - value: {attribute: a, value: "%{hash('sha256', '${secret:canary}')}", label: "l${secret:canary}"}
    sinks: [{attr2hbase: {table: t}}]
"""


class TestCanary:
    """A secret must not appear in any output."""

    def load(self, tmp_path, text):
        (tmp_path / "canary").write_text(CANARY + "\n")
        path = tmp_path / "p.yaml"
        path.write_text(text.replace("FOLDER", str(tmp_path)))
        return load(path, env={"CANARY": CANARY + "-2"}, lookup=Catalog())

    def test_is_not_in_the_shown_configuration(self, tmp_path):
        text = FILE.replace("%{hash('sha256', '${secret:canary}')}", "x")
        found = self.load(tmp_path, text)
        assert found.pipelines["p"].source.settings.security.sasl.password.get_secret_value() == CANARY + "-2"
        assert CANARY not in repr(found)
        assert CANARY not in json.dumps(found.effective)
        assert CANARY not in found.report.to_text()
        assert CANARY not in found.masks.hide(f"a {CANARY} b {CANARY}-2")
        assert found.effective["pipelines"]["p"]["decorators"][0]["value"]["label"] == "***"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("mechanism: plain", 'mechanism: "${secret:canary}"'),
            ("topics: [t]", 'topics: ["${secret:canary}"], start: "${secret:canary}", tombstones: "${secret:canary}"'),
            ('"localhost:9092"', '"${secret:canary}"'),
            ("table: t", 'table: "%{${secret:canary}", store: "${secret:canary}"'),
            (
                "table: t",
                'table: t, write_buffer_size: "${secret:canary}", columns: {name_pattern: "(${secret:canary}"}',
            ),
            ("value: {attribute: a", '"${secret:canary}": {attribute: a'),
            ("- value:", '- chain: "${secret:canary}"\n      - value:'),
            ("- value:", '- "${secret:canary}"\n      - value:'),
            ("    sinks:", '    timezone: "${secret:canary}"\n    sinks:'),
            ("logs: memory", 'logs: "${secret:canary}"'),
            ('"${CANARY}"', CANARY + "-in-the-file"),
        ],
    )
    def test_is_not_in_problems(self, tmp_path, old, new):
        assert old in FILE
        with pytest.raises(ConfigError) as caught:
            self.load(
                tmp_path,
                FILE.replace(old, new)
                .replace('topics: ["${', '\n        topics: ["${')
                .replace(", start", "\n        start")
                .replace(", tombstones", "\n        tombstones"),
            )
        report = caught.value.report
        assert CANARY not in str(caught.value) + repr(caught.value) + report.to_text() + json.dumps(report.to_json())
        assert CANARY not in repr(report)
