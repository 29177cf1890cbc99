"""What a table gives goes on through bodies, times, hosts and members, and is kept out of row keys there too."""

import pytest

from tests.support.problems import chain_file, problems_of

FILE = chain_file("json", "lookup: {path: t.csv, source: id, columns: {team: profile}}", "STEPS")
REFUSED = "of a step that may give something else each time: a replay adds a row; the step is the lookup on line 8"
BODY = "format: {template: '%{profile}'}"
PACKED = "rename: {attributes: {profile: compressGzip}}"
BATCH = "rename: {attributes: {profile: batchData}}"
CORE = {"body", "host", "nanos", "priority", "timestamp"}


@pytest.fixture
def problems(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("id,team\n1,red\n")
    path = tmp_path / "p.yaml"

    def found(*steps):
        path.write_text(FILE.replace("STEPS", "\n      - ".join(steps)))
        return problems_of(path)

    return found


def key(name):
    reference = name if name in CORE else f"'{name}'"
    return f"value: {{attribute: '2hb_', value: \"%{{offset}}%{{{reference}}}\"}}"


def refused(found):
    return [problem for problem in found if problem.endswith(f"{REFUSED}; use what identifies the event: "
            "%{topic}-%{partition}-%{offset}")]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([BODY], "body"),
        ([BODY, "copy: {attribute: c}"], "c"),
        ([BODY, "regex: {pattern: '(?P<c>.*)'}"], "c"),
        ([BODY, "hash: {attribute: c}"], "c"),
        ([BODY, "csv: {columns: [c, d]}"], "d"),
        ([BODY, "json"], "any.thing"),
        ([BODY, "kv: {only: [c]}"], "c"),
        ([BODY, "syslog"], "timestamp"),
        ([BODY, "access_log: {prefix: 'w.'}"], "w.user"),
        ([BODY, "flume_avro"], "host"),
        ([BODY, "case: {to: upper}", "digest: {attribute: c, algorithm: md5}"], "c"),
        ([BODY, "truncate: {max_bytes: 3B}"], "body"),
        ([BODY, "explode: {form: lines, number_attribute: n}"], "n"),
        (["explode: {form: lines, source: profile}"], "body"),
        (["explode: {form: lines, source: profile, attribute: c}"], "c"),
        (["template: {attributes: {d: '%{id}'}, body: '%{profile}'}"], "body"),
        (["json: {source: profile}"], "id"),
        (["json: {source: profile, prefix: 'p.'}"], "p.id"),
        (["json: {source: profile, prefix: 'p.'}", "prefix: {strip: p, add: x}"], "x.id"),
        (["json: {source: profile, prefix: 'p.'}", "rename: {attributes: {p.id: c}}"], "c"),
        (["json: {source: profile, prefix: 'p.'}", "rename: {pattern: '^..(.*)', replacement: '\\1'}"], "c"),
        (["json: {source: profile, prefix: 'p.'}", "flatten: {attributes: {p.x: c}}"], "cd"),
        (["kv: {source: profile}"], "id"),
        (["headers: {source: profile, first_line_attribute: c, prefix: 'h.'}"], "c"),
        (["headers: {source: profile, first_line_attribute: c, prefix: 'h.'}"], "h.host"),
        (["url: {source: profile}"], "path"),
        (["user_agent: {source: profile, prefix: 'ua.'}"], "ua.os"),
        (["ex_date: {source: profile, pattern: yyyy}"], "dateyear"),
        (["flatten"], "profile.id"),
        (["flatten: {attributes: [profile], separator: _}"], "profile_id"),
        (["flatten: {attributes: {profile: ''}}"], "id"),
        (["timestamp: {source: profile}"], "timestamp"),
        (["timestamp: {source: profile}", "value: {attribute: c, value: '%Y'}"], "c"),
        (["timestamp: {source: profile}", "date_parts"], "year"),
        (["timestamp: {source: profile}", "truncate_time: {to: day}"], "timestamp"),
        (["timestamp: {source: profile}", "truncate_time: {to: day, attribute: c}"], "c"),
        (["timestamp: {source: profile}", "invert_time: {attribute: c}"], "c"),
        (["host: {source: profile}"], "host"),
        (["host: {source: profile}", "host: {attribute: c, form: short}"], "c"),
        (["max_size: {max_bytes: 9B, on_larger: cut}"], "body"),
        ([PACKED, "gunzip"], "nanos"),
        ([PACKED, "gunzip"], "id"),
        ([BATCH, "unbatch"], "priority"),
    ],
)
def test_it_is_followed(problems, steps, name):
    (found,) = refused(problems(*steps, key(name)))
    assert f"this row key takes %{{'{name}'}} " in found


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("format: {template: x, when: exists(profile)}", "body"),
        ("timestamp: {source: id, when: exists(profile)}", "timestamp"),
        ("json: {when: exists(profile)}", "id"),
        ("kv: {prefix: 'k.', when: exists(profile)}", "k.x"),
        ("redact: {find: [email], when: exists(profile)}", "body"),
        ("redact: {attributes: [id], find: [email], when: exists(profile)}", "id"),
        ("redact: {attributes: ['*'], find: [email], when: exists(profile)}", "id"),
        ("remove: {attributes: [id], when: exists(profile)}", "id"),
        ("rename: {attributes: {id: x}, when: exists(profile)}", "id"),
        ("rename: {attributes: {id: x}, when: exists(profile)}", "x"),
    ],
)
def test_a_condition_of_it_decides_too(problems, step, name):
    assert refused(problems(step, key(name)))


@pytest.mark.parametrize(
    "steps",
    [
        [BODY, "copy: {attribute: '2hb_'}"],
        [BODY, "regex: {pattern: .+, index: 0, attribute: '2hb_'}"],
        ["json: {source: profile, prefix: '2hb_'}"],
        [key("offset"), "json: {source: profile}"],  # a member named 2hb_ takes its place
    ],
)
def test_the_key_may_be_it(problems, steps):
    (found,) = refused(problems(*steps))
    assert found.startswith(f"{8 + len(steps)}:9: conflict: this row key takes %{{'2hb_'}} ")


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([BODY], "id"),
        ([BODY, "regex: {source: id, pattern: '(?P<c>.*)'}"], "c"),
        ([BODY, "hash: {source: id, attribute: c}"], "c"),
        ([BODY, "case: {attributes: [id], to: upper}"], "id"),
        ([BODY, "json: {source: other}"], "id"),
        ([BODY, "date_parts"], "year"),
        ([BODY, "host: {attribute: c}"], "c"),
        ([BODY, "explode: {form: lines, source: id}", "uuid: {attribute: c}"], "c"),
        ([BODY, "json: {prefix: 'p.'}"], "id"),
        ([BODY, "kv: {only: [c]}"], "id"),
        ([BODY, "timestamp: {source: id}"], "timestamp"),
        ([BODY, "mult: {n: 2}", "max_size", "redact: {find: [email]}"], "id"),
        (["template: {attributes: {d: '%{id}'}, body: '%{profile}'}"], "d"),
        (["json: {source: profile, prefix: 'p.'}"], "id"),
        (["json: {source: profile, prefix: 'p.'}", "rename: {attributes: {id: c}}"], "c"),
        (["url: {source: profile}"], "id"),
        (["user_agent: {source: profile}"], "id"),
        (["ex_date: {source: profile, prefix: '', pattern: yyyy}"], "id"),
        (["query: {source: profile, only: [q]}"], "id"),
        (["leef: {source: profile, only: [q]}"], "id"),
        (["cef: {source: profile, only: [q]}"], "id"),
        (["flatten"], "id"),
        (["flatten: {attributes: {id: ''}}"], "c"),
        (["timestamp: {source: profile}"], "host"),
        (["timestamp: {source: profile}"], "nanos"),
        (["host: {source: profile, attribute: c}"], "host"),
        (["max_size"], "body"),
        (["explode: {form: lines, source: profile, attribute: c}"], "body"),
        (["gunzip"], "nanos"),
        (["split: {source: id, separator: x, index: 0, attribute: c, when: exists(other)}"], "c"),
        (["redact: {attributes: [other], find: [email], when: exists(profile)}"], "id"),
    ],
)
def test_what_it_does_not_reach_is_free(problems, steps, name):
    assert refused(problems(*steps, key(name))) == []


@pytest.mark.parametrize(
    ("steps", "name", "is_refused"),
    [
        ([BODY, "format: {template: '%{id}'}"], "body", False),
        ([BODY, "format: {template: '%{id}', when: exists(id)}"], "body", True),
        ([BODY, "template: {body: '%{id}'}"], "body", False),
        ([BODY, "template: {body: '%{id}', on_missing: unset}"], "body", True),
        (["value: {attribute: profile, value: x}"], "profile", False),
        (["value: {attribute: profile, value: '%{x}', on_missing: unset}"], "profile", True),
        (["default: {attributes: {profile: x}, on_missing: error}"], "profile", True),
        (["host: {attribute: profile}"], "profile", False),
        (["host: {attribute: profile, on_missing: keep}"], "profile", True),
        ([key("profile"), "value: {attribute: '2hb_', value: '%{offset}'}"], None, False),
        ([key("profile"), "value: {attribute: '2hb_', value: '%{offset}%{x}', on_missing: unset}"], None, True),
        ([key("profile"), "copy: {source: x, attribute: '2hb_'}"], None, True),
        ([key("profile"), "host: {attribute: '2hb_'}"], None, False),
        ([key("profile"), "host: {attribute: '2hb_', on_missing: keep}"], None, True),
        ([key("profile"), "regex: {pattern: '(a)', index: 1, attribute: '2hb_'}"], None, True),
        (["static: {attributes: {profile: x}}", "json: {source: profile}"], "id", False),
        (["timestamp: {source: profile}", "timestamp: {source: id}"], "timestamp", False),
        (["timestamp: {source: profile}", "timestamp: {source: id, on_invalid: keep}"], "timestamp", True),
        (["json: {source: profile}", "uuid: {attribute: c}"], "c", False),
        (["json: {source: profile}", "uuid: {attribute: c}", "rename: {attributes: {c: d}}"], "d", False),
        (["json: {source: profile}", "uuid: {attribute: c}", "kv: {source: profile}"], "c", True),
        (["json: {source: profile}", "hash: {attribute: c}"], "c", False),
        (["json: {source: profile}", "leef: {source: id}"], "eventId", True),  # `id` may be of it
        (["json: {source: profile}", "cef: {only: [src]}"], "name", False),
        (["json: {source: profile}", "cef: {only: [src]}"], "src", True),
        (["json: {source: profile}", "regex: {pattern: '(?P<c>.*)'}"], "c", True),  # the text may have no match
        (["json: {source: profile}", "copy: {source: id, attribute: c}"], "c", True),
        (["regex: {pattern: '(?P<profile>[0-9]+)', on_no_match: error, on_unmatched: error}"], "profile", False),
        (["regex: {pattern: '(?P<profile>[0-9])?', on_no_match: error}"], "profile", True),
        (["regex: {pattern: '(?P<profile>[0-9]+)', on_unmatched: error}"], "profile", True),
        (["regex: {pattern: '.', index: 0, attribute: profile, on_no_match: drop}"], "profile", False),
        (["regex: {pattern: '.', index: 0, attribute: profile, when: exists(id)}"], "profile", True),
        (["row_key: {attribute: profile, parts: [{value: '%{id}'}], on_separator: keep}"], "profile", False),
        (["convert: {attribute: profile, encode: int64, on_invalid: keep}"], "profile", False),
        (["convert: {attribute: profile, encode: int64, on_invalid: unset}"], "profile", True),
        (["invert_time: {attribute: profile, on_invalid: keep}"], "profile", True),
        (["copy: {source: profile, attribute: '2hb_'}", key("offset")], None, False),
    ],
)
def test_what_is_surely_set_again_is_free(problems, steps, name, is_refused):
    last = [] if name is None else [key(name)]
    assert bool(refused(problems(*steps, *last))) is is_refused
