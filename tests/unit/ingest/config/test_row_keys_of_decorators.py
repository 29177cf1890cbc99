"""Row keys that decorators set: whether they vary between events."""

import pytest

from tests.support.problems import chain_file, problems_of

FILE = chain_file("DECORATOR")
NO_KEY = 'missing-row-key: warning: no decorator sets the attribute "2hb_" that holds the row key'
NANOS = "shared-row-key: warning: only %{nanos} makes this row key unique"
SAME = "shared-row-key: warning: this row key is the same for every event"


def problems(tmp_path, decorator):
    path = tmp_path / "p.yaml"
    path.write_text(FILE.replace("DECORATOR", decorator))
    return problems_of(path)


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        ('row_key: {parts: [{value: a}, {value: "%{nanos}", encoding: inverted}]}', f"7:26: {NANOS}"),
        ("row_key: {parts: [{value: a}, {value: b}], separator: '-'}", f"7:26: {SAME}"),
        ('row_key: {parts: [{value: "%{key}"}, {value: "%{nanos}"}]}', None),
        (
            'row_key: {attribute: x, parts: [{value: "%{nanos}"}]}',
            f"8:14: {NO_KEY}",
        ),
        ('template: {attributes: {"2hb_": "%{nanos}"}}', f"7:41: {NANOS}"),
        ('template: {attributes: {"2hb_": "k", x: "%{nanos}"}}', f"7:41: {SAME}"),
        ('template: {attributes: {"2hb_": "%{key}%{nanos}"}}', None),
        ('template: {attributes: {x: "%{nanos}"}}', f"8:14: {NO_KEY}"),
        ('template: {attributes: {"2hb_": "%{nanos}"}}\n      - row_key: {parts: [{value: "%{key}"}]}', None),
        ('value: {attribute: "2hb_", value: k, when: exists(x)}', f"7:43: {SAME}"),
        ('default: {attributes: {"2hb_": "%{nanos}"}}', f"7:40: {NANOS}"),
        ('default: {attributes: {"2hb_": k}}', None),  # set only in events that have none
    ],
)
def test_constant_row_key_is_a_warning(tmp_path, decorator, expected):
    found = problems(tmp_path, decorator)
    assert len(found) == (expected is not None)
    assert all(problem.startswith(str(expected)) for problem in found)


def value(template):
    return f"value: {{attribute: '2hb_', value: \"{template}\"}}"


PLACE = value("%{topic}-%{partition}-%{offset}")


ARRAYS = """explode: {when: "%{body} starts_with '['"}"""
EMPTY = """"%{body} == ''\""""


@pytest.mark.parametrize(
    ("decorators", "by"),
    [
        (["explode", PLACE], "explode"),
        (["explode", "row_key: {parts: [{value: '%{key}'}, {value: '%{nanos}'}]}"], "explode"),
        (["explode: {attribute: part}", value("%{body}%{offset}")], "explode"),
        (["mult: {n: 2}", value("%{body}%{offset}")], "mult"),
        ([value("%{origin()}"), "explode"], "explode"),
        ([value("%{id}"), "mult: {n: 2}"], "mult"),
        (["unbatch", value("%{key}")], "unbatch"),
        (["explode", value("%{offset}%{fan_out()}")], None),
        (["explode", value("%{uuid()}")], None),
        (["explode", value("%{body}%{offset}")], None),
        (["explode: {attribute: part}", value("%{part}%{offset}")], None),
        (["unbatch", value("%{host}-%{nanos}")], None),
        # conditions may exclude each other, but the same one does not
        ([ARRAYS, f"value: {{attribute: '2hb_', value: '%{{key}}', when: {EMPTY}}}"], None),
        ([f"value: {{attribute: '2hb_', value: '%{{key}}', when: {EMPTY}}}", ARRAYS], None),
        ([f"explode: {{when: {EMPTY}}}", f"value: {{attribute: '2hb_', value: '%{{key}}', when: {EMPTY}}}"], "explode"),
        ([ARRAYS, value("%{key}")], "explode"),
        (["reservoir_sampler: {k: 5}", PLACE], None),
        (["dedupe: {by: '%{key}'}", PLACE], None),
    ],
)
def test_row_key_shared_by_events_of_a_fan_out_is_a_warning(tmp_path, decorators, by):
    expected = f": shared-row-key: warning: all events that {by} produces from one event have this row key"
    found = problems(tmp_path, "\n      - ".join(decorators))
    assert [expected in problem for problem in found] == ([] if by is None else [True])


TIME = value("%{timestamp}")
SECONDS = "timestamp: {formats: '%Y-%m-%d %H:%M:%S'}"


@pytest.mark.parametrize(
    ("decorators", "expected"),
    [
        ([SECONDS, TIME], "8:43: KEY, and the timestamp"),
        (
            ["timestamp: {when: exists(d), source: d}", value("web%{timestamp}")],
            "8:43: KEY, and the timestamp",
        ),
        (["access_log", value("%Y%m%d%H%M%S")], "8:43: KEY, and the access_log on line 7"),
        (["syslog", "row_key: {parts: [{value: '%{timestamp}', encoding: inverted}]}"], "8:26: KEY, and the syslog"),
        (
            [SECONDS, "timestamp: {source: d, formats: epoch_ms, when: exists(d)}", TIME],
            "9:43: KEY, and the timestamp",
        ),
        ([TIME], None),
        ([TIME, SECONDS], None),
        (["syslog: {set_time: false}", TIME], None),
        ([SECONDS, "timestamp: {source: ms, formats: epoch_ms}", TIME], None),
        (["timestamp: {formats: ['%Y-%m-%d %H:%M:%S.%f', '%Y-%m-%d %H:%M:%S.%L', epoch_ns]}", TIME], None),
        ([SECONDS, value("%{host}-%{timestamp}")], None),
        ([SECONDS, value("%{timestamp}-%{offset}")], None),
        (["truncate_time: {to: hour}", TIME], None),
    ],
)
def test_row_key_of_a_parsed_time_is_a_warning(tmp_path, decorators, expected):
    found = problems(tmp_path, "\n      - ".join(decorators))
    assert len(found) == (expected is not None)
    start = str(expected).replace("KEY", "shared-row-key: warning: only %{timestamp} makes this row key unique")
    assert all(problem.startswith(start) for problem in found)


@pytest.mark.parametrize(
    ("path", "template", "scope"),
    [
        (None, "%{offset}", "topic and partition"),
        (None, "%{pad_left(offset, 12)}", "topic and partition"),
        ("*.log", "k-%{offset}", "file"),
        ("folder", "%{offset}", "file"),
        ("*.log", "%{partition}-%{key}-%{offset}", "file"),
        ("one.log", "%{offset}", None),
        ("*.log", "%{topic}:%{offset}", None),
        (None, "%{topic}-%{partition}-%{offset}", None),
        (None, "%{key}-%{offset}", None),
        (None, "%{user}-%{offset}", None),
    ],
)
def test_offset_as_the_only_unique_part_is_a_warning(tmp_path, path, template, scope):
    (tmp_path / "folder").mkdir()
    content = chain_file(value(template), value("x").replace("2hb_", "2hb_a:b"))
    if path is not None:
        kafka = '{kafka: {brokers: "localhost:9092", topics: [t]}}'
        content = content.replace(kafka, f"{{files: {{path: '{tmp_path / path}'}}}}")
    file = tmp_path / "p.yaml"
    file.write_text(content)
    message = (
        "7:43: shared-row-key: warning: only %{offset} makes this row key unique, and the same offsets occur in every "
        f"{scope}; use the identity of the event: %{{topic}}-%{{partition}}-%{{offset}}"
    )
    assert problems_of(file) == ([] if scope is None else [message])
