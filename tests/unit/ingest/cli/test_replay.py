"""`ingest replay` without a cluster."""

import pytest


@pytest.mark.parametrize(
    ("template", "arguments", "message"),
    [
        ("files", "--from 2026-01-31 --to 2026-02-01", "files, which has no offsets"),
        ("kafka", "--from 2026-01-31 --to 2026-01-31", "the range is empty"),
        ("kafka", "--from yesterday --to 2026-01-31", '"yesterday" is not a time'),
        ("kafka", "--from 2026-01-30 --to 2026-01-31 --at 2026-01-30 --overwrite", "choose one of them"),
    ],
)
def test_refused_options(ingest, folder, template, arguments, message):
    assert ingest("init", "--template", template).code == 0
    done = ingest("replay", "pipeline.yaml", *arguments.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
