"""Hints for common mistakes."""

import pytest

from decorators import BUILTIN
from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.suggest import COMPONENTS_ELSEWHERE
from tests.support.problems import chain_file

FILE = chain_file("DECORATOR", 'value: {attribute: "2hb_", value: "%{key}-%{nanos}"}')
DISTRIBUTE = "to distribute row keys over N buckets, declare the table with `distribute: {hash: N}`"


@pytest.mark.parametrize(
    ("decorator", "hint"),
    [
        ("hmac: {key: x, attributes: [a]}", 'did you mean "secret"?'),
        ("mask: {}", "missing-field: mask needs `attributes`, `pattern` or `values`"),
        ("remove: {}", "missing-field: remove needs `attributes`, `pattern` or `values`"),
        ("digest: {algorithm: md5}", "missing-field: digest needs `attribute`"),
        ("row_key: {parts: [{value: a}], buckets: 16}", DISTRIBUTE),
        ("row_key: {parts: [{value: a}], bucket_parts: 1}", DISTRIBUTE),
        ("salt: {}", f'there is no decorator "salt"; {DISTRIBUTE}'),
        ("value: {attribute: a, value: '%{bucket(b, 16)}'}", f'unknown function "bucket"; {DISTRIBUTE}'),
        ("mask: {find: [email]}", "`redact` replaces matches inside values"),
        ("access_log: {formats: combine}", 'did you mean "combined"?'),
        ("ip: {networks: {a: [10.1.0.0/8]}}", '"10.1.0.0/8" is not a range; did you mean 10.0.0.0/8?'),
        ("ip: {networks: {a: [ten]}}", "as in 10.0.0.0/8"),
        ("regex: {pattern: (a), attributes: [a, b]}", "`attributes` has 2 names, but the pattern has 1 groups"),
        ("regex: {pattern: (a, index: 0, attribute: b}", "bad-pattern: missing )"),
        ("timestamp: {zone: CEST}", '"CEST" is not a time zone; write one such as UTC or Europe/Berlin'),
        (r'regex: {pattern: "(\d+)", attribute: a}', "use single quotes, in which a backslash has no special meaning"),
        ("json: {prefix: 2hb_a:}", 'text with a ":" in it must be quoted'),
        ("split: {attribute: a, separator: :, index: 1}", "did not find expected node content; quote this value"),
        ("json: 2hb_a: b", 'text with a ":" in it must be quoted'),
        (
            "trim: {}\n     - trim: {}",
            '8:6: syntax: while parsing a block mapping: did not find expected key; indent this "-"',
        ),
        (
            "trim: {}\n     label: a",
            "did not find expected key; indent this line, or the one before it, like the other keys",
        ),
        ("trim: {}\n       - trim: {}", "did not find expected '-' indicator; indent this \"-\""),
        ("value: {attribute: a, value: b}\n        when: exists(c)", "go inside: `value: {…, when: …}`"),
        ("trim: {}\n        on_error: drop\n        label: a", "go inside: `trim: {…, on_error: …}`"),
        ('value: {attribute: a, value: "${id}"}', "the attribute id of an event is %{id}"),
        ('value: {attribute: a, value: b, when: "exists(2hb_a:id)"}', "must be quoted: exists('2hb_a:id')"),
        ("redact: {find: email}", "write [email]"),
        ('mask: {attributes: "a: b"}', 'write ["a: b"]'),
        ("sample: {share: 30%, by: b}", 'share must be a number, not the text "30%"; write 0.3'),
        ("sample: {share: 30, by: b}", "out-of-range: share must be at most 1, not 30"),
        (
            "timestamp: {formats: yyyy-MM-dd}",
            "write directives such as %Y-%m-%d, a pattern of Joda-Time as joda:PATTERN, or one of iso8601, rfc3339",
        ),
        ("timestamp: {formats: epoc_ms}", 'did you mean "epoch_ms"?'),
        (
            "lookup: {path: people.csv, key: network}",
            '7:41: unknown-reference: the file has no column "network"; it has id, team',
        ),
        (
            "lookup: {path: people.csv, columns: {taem: x}}",
            '7:45: unknown-reference: the file has no column "taem"; did you mean "team"?',
        ),
    ],
)
def test_hint_for_a_common_mistake(tmp_path, monkeypatch, decorator, hint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,team\n1,red\n")
    (tmp_path / "p.yaml").write_text(FILE.replace("DECORATOR", decorator))
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    assert any(hint in str(problem) for problem in caught.value.report.errors)


def problems(path, text):
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, env={}, lookup=Catalog())
    return [str(problem) for problem in caught.value.report.problems]


OF_DECORATORS = [
    (name, ours) for ours in COMPONENTS_ELSEWHERE if ours in BUILTIN for name in COMPONENTS_ELSEWHERE[ours].split()
]


@pytest.mark.parametrize(("name", "ours"), OF_DECORATORS)
def test_decorator_name_of_another_tool_has_a_hint(tmp_path, name, ours):
    (problem,) = problems(tmp_path / "p.yaml", FILE.replace("DECORATOR", f"{name}: {{}}"))
    assert f'there is no decorator "{name}"; did you mean "{ours}"?' in problem


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("bootstrap_servers", "brokers"),
        ("consumer_group", "group"),
        ("group_id", "group"),
        ("auto_offset_reset", "start"),
        ("startingOffsets", "start"),
    ],
)
def test_option_name_of_another_tool_has_a_hint(tmp_path, name, ours):
    (tmp_path / "p.yaml").write_text(f"version: 1\npipelines: {{p: {{source: {{kafka: {{{name}: x}}}}}}}}\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    expected = f'"{name}" is not an option of kafka; did you mean "{ours}"?'
    assert any(expected in str(problem) for problem in caught.value.report.errors)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "service: {state_dir: ./x}",
            '2:11: unknown-field: "state_dir" is not an option of service; it belongs to the top level of the file',
        ),
        (
            "service: {max_rate: 5}",
            '"max_rate" is not an option of service; it belongs to a pipeline: `pipelines: {NAME: {max_rate: …}}`',
        ),
        (
            "stores: {m: {memory: {}}}\ntables: {t: {stores: m}}",
            '"stores" is not an option of table t; did you mean "store"?',
        ),
        (
            "pipelines: {p: {spark: {}}}",
            '"spark" is not a part of a pipeline; it belongs to the top level of the file',
        ),
        (
            "source: {kafka: {}}",
            '"source" is not a part of a configuration; it belongs to a pipeline: `pipelines: {NAME: {source: …}}`',
        ),
    ],
)
def test_key_of_another_level_of_the_file_says_where_it_belongs(tmp_path, text, hint):
    assert any(hint in problem for problem in problems(tmp_path / "p.yaml", f"version: 1\n{text}\n"))


def test_scripting_decorator_of_another_tool_has_a_hint_to_plugins(tmp_path):
    (problem,) = problems(tmp_path / "p.yaml", FILE.replace("DECORATOR", "ruby: {}"))
    assert "write a custom decorator in Python, and name its file under `plugins`" in problem


def test_hint_lists_all_decorators(tmp_path):
    (problem,) = problems(tmp_path / "p.yaml", FILE.replace("DECORATOR", "qqqqq: {}"))
    assert all(f'"{name}"' in problem for name in BUILTIN)


def test_unknown_decorator_may_belong_to_a_failed_plugin(tmp_path):
    (tmp_path / "custom.py").write_text("import no_such_library")
    text = "plugins: [custom]\n" + FILE.replace("DECORATOR", "leev: {}")
    failed, unknown = problems(tmp_path / "p.yaml", text)
    assert "no_such_library" in failed
    assert 'it may belong to the plugin "custom", which cannot be used' in unknown


def test_unknown_timezone_has_a_hint(tmp_path):
    for zone, hint in (
        ("CEST", "; write one such as UTC or Europe/Berlin"),
        ("Europe/Berln", '; did you mean "Europe/Berlin"?'),
    ):
        text = FILE.replace("DECORATOR", "trim: {}").replace("    sinks", f"    timezone: {zone}\n    sinks")
        (problem,) = problems(tmp_path / "p.yaml", text)
        assert problem.endswith(f'not-one-of: "{zone}" is not a time zone{hint}')
