"""Row keys that steps make, in whichever way: whether they vary, and whether a replay gives the same."""

import pytest

from tests.support.problems import chain_file, problems_of

FILE = chain_file("STEP")
NO_KEY = 'missing-row-key: warning: no decorator sets the attribute "2hb_" that the row key is taken from'
NANOS = "shared-row-key: warning: only %{nanos} makes this row key vary"
SAME = "shared-row-key: warning: this row key is the same for every event, so there is one row"


def problems(tmp_path, step):
    path = tmp_path / "p.yaml"
    path.write_text(FILE.replace("STEP", step))
    return problems_of(path)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ('row_key: {parts: [{value: a}, {value: "%{nanos}", encoding: inverted}]}', f"7:26: {NANOS}"),
        ("row_key: {parts: [{value: a}, {value: b}], buckets: 4}", f"7:26: {SAME}"),
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
        ('default: {attributes: {"2hb_": k}}', None),  # of those events that have no other
    ],
)
def test_a_key_that_does_not_vary_is_told(tmp_path, step, expected):
    found = problems(tmp_path, step)
    assert len(found) == (expected is not None)
    assert all(problem.startswith(str(expected)) for problem in found)


def value(template):
    return f"value: {{attribute: '2hb_', value: \"{template}\"}}"


PLACE = value("%{topic}-%{partition}-%{offset}")


@pytest.mark.parametrize(
    ("steps", "by"),
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
        (["reservoir_sampler: {k: 5}", PLACE], None),
        (["dedupe: {by: '%{key}'}", PLACE], None),
    ],
)
def test_a_key_that_parts_of_an_event_share_is_told(tmp_path, steps, by):
    told = f": shared-row-key: warning: the events that {by} makes of one share this row key"
    found = problems(tmp_path, "\n      - ".join(steps))
    assert [told in problem for problem in found] == ([] if by is None else [True])


TIME = value("%{timestamp}")
SECONDS = "timestamp: {formats: '%Y-%m-%d %H:%M:%S'}"


@pytest.mark.parametrize(
    ("steps", "told"),
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
def test_a_key_of_a_time_that_was_a_text_is_told(tmp_path, steps, told):
    found = problems(tmp_path, "\n      - ".join(steps))
    assert len(found) == (told is not None)
    start = str(told).replace("KEY", "shared-row-key: warning: only %{timestamp} makes this row key vary")
    assert all(problem.startswith(start) for problem in found)
