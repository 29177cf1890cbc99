"""Contents of commands of any form: a command is accepted, or refused with a reason, and no page fails."""

import io
import json
from wsgiref.types import WSGIEnvironment
from wsgiref.util import setup_testing_defaults

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from ingest.observe.health import Health
from tests.support.endpoint import TOKEN, pages

COMMANDS: dict[str, dict[str, object]] = {
    "/jobs/replay": {
        "pipeline": "ticks",
        "from": "2026-01-31",
        "to": "2026-02-01T12:00:00Z",
        "at": "2026-02-02",
        "overwrite": False,
        "rate": 7,
        "sink": ["a"],
        "fingerprints": {"ticks": "f"},
    },
    "/jobs/compaction": {"table": "t", "older_than": "7ms", "window": "9ms"},
    "/jobs/rollback": {"table": "t", "from": "2026-01-31", "to": "2026-02-01T12:00:00Z", "strict": True},
    "/jobs/dump": {
        "root": "/dumps",
        "tables": ["t"],
        "columns": {"t": {"a": "f:a int32"}},
        "max_rate": 7,
        "keep": "1d",
    },
    "/jobs/dead-letters-replay": {"pipeline": "ticks", "code": ["no_match"], "since": "2026-01-31", "all": True},
    "/jobs/offsets-reset": {"pipeline": "ticks", "to": "earliest", "recount": True},
    "/tables/t/shards": {"split": 1, "at": "6d"},
}
"""Path of a command with content -> such content."""
EXTREMES = [
    *(
        "-1",
        "1e999",
        "-0.0",
        "9" * 400,
        "9" * 5000,
        "0.5",
        '""',
        '"\\ud800"',
        '"\\u0000"',
        "NaN",
        "[" * 3000,
        "{}",
        "[{}]",
    ),
    *('"0001-01-01T00:00:00+14:00"', '"9999-12-31T23:59:59-14:00"', '"2026-W01"', '"1969-12-31"', '"24:00:01"'),
]
VALUES = st.one_of(
    st.sampled_from(EXTREMES),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
        max_leaves=5,
    ).map(json.dumps),
)


@st.composite
def contents(draw: st.DrawFn) -> tuple[str, bytes]:
    """A command, and content of which some fields have any value, are missing, twice there, or unknown."""
    path = draw(st.sampled_from(list(COMMANDS)))
    fields = [(json.dumps(name), json.dumps(value)) for name, value in COMMANDS[path].items()]
    for at in draw(st.sets(st.integers(0, len(fields) - 1), max_size=2)):
        fields[at] = (fields[at][0], draw(VALUES))
    if draw(st.booleans()):
        fields.insert(0, (draw(st.one_of(st.sampled_from([name for name, _ in fields]), VALUES)), draw(VALUES)))
    kept = draw(st.integers(0, len(fields)))
    return path, ("{" + ", ".join(": ".join(each) for each in fields[:kept]) + "}").encode("utf-8", "surrogatepass")


@given(contents())
def test_any_content_is_accepted_or_refused_with_a_reason(sent: tuple[str, bytes]) -> None:
    path, content = sent
    started: list[str] = []
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_AUTHORIZATION": f"Bearer {TOKEN}",
        "wsgi.input": io.BytesIO(content),
    }
    setup_testing_defaults(environ)
    with capture_logs() as logged:
        answer = b"".join(pages(Health(["ticks"]))(environ, lambda status, *_: started.append(status)))  # type: ignore[arg-type]
    assert logged == []
    assert started[0][:3] in {"202", "400", "409"}
    assert answer
