"""BootstrapProgress of a bootstrap as the value of a property."""

import pytest

from ingest.api import IntegrityError
from sinks.bootstrap.progress import BootstrapProgress, Stage
from sinks.dumps.checksum import TableChecksum

PROGRESS = BootstrapProgress(
    "/dumps",
    "2026-01-31-12-00-00",
    "ns:t",
    Stage.FOLLOWING,
    is_concurrent=True,
    files=3,
    rows=7,
    checksum=TableChecksum(1, 2, 3),
    feed_id="s1",
    positions={1: None, 2: "token"},
    changes=5,
    deletes=4,
)


def test_text_and_back():
    assert BootstrapProgress.of(PROGRESS.to_text(), "t") == PROGRESS


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        "{}",
        PROGRESS.to_text().replace('"format":1', '"format":2'),
        '{"format":1}',
    ],
)
def test_other_text_is_refused(text):
    with pytest.raises(IntegrityError, match='bootstrap of table "t"'):
        BootstrapProgress.of(text, "t")


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (BootstrapProgress("/moved", "2026-01-31-12-00-00", "ns:t", feed_id="s1", is_concurrent=True), True),
        (BootstrapProgress("/dumps", "2026-02-01-12-00-00", "ns:t", feed_id="s1", is_concurrent=True), False),
        (BootstrapProgress("/dumps", "2026-01-31-12-00-00", "t", feed_id="s1", is_concurrent=True), False),
        (BootstrapProgress("/dumps", "2026-01-31-12-00-00", "ns:t", feed_id="s2", is_concurrent=True), False),
        (BootstrapProgress("/dumps", "2026-01-31-12-00-00", "ns:t", feed_id="s1"), False),
    ],
)
def test_bootstrap_is_that_of_dump_table_feed_and_order(other, is_same):
    assert PROGRESS.is_of(other) == is_same
