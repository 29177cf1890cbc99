"""Detection of topics that were deleted and recreated."""

from pathlib import Path

import pytest

from ingest.api import CheckpointError, PositionLostError
from ingest.service.kafka.topics import LogTruncatedError, TopicIds, TopicRecreatedError, check_ends


def test_topic_id_is_stored_when_the_topic_is_first_seen(tmp_path: Path):
    TopicIds(tmp_path).check({"a": "1"})
    TopicIds(tmp_path).check({"a": "1", "b": "2"})
    TopicIds(tmp_path).check({"b": "2"})  # a deleted topic is not an error
    with pytest.raises(PositionLostError):
        TopicIds(tmp_path).check({"a": "3"})


@pytest.mark.parametrize(
    ("now", "message", "hint"),
    [
        ({"a": "9"}, 'topic "a" was deleted and recreated', "--start-from earliest"),
        ({"a": "9", "b": "2"}, 'topic "a" was deleted and recreated', "--start-from group"),
        ({"a": "9", "b": "8"}, 'topics "a", "b" were deleted and recreated', "--start-from earliest"),
    ],
)
def test_changed_id_is_refused_every_time(tmp_path: Path, now: dict[str, str], message: str, hint: str):
    TopicIds(tmp_path).check({"a": "1", "b": "2"} if "b" in now else {"a": "1"})
    for _ in range(2):
        with pytest.raises(PositionLostError) as caught:
            TopicIds(tmp_path).check(now)
        assert caught.value.message.startswith(message)
        assert hint in str(caught.value)
        assert str(tmp_path) in str(caught.value)


def test_ids_are_added_to_a_checkpoint_without_them(tmp_path: Path):
    known = TopicIds(tmp_path)
    known.check({})  # a broker that does not support topic ids
    assert not (tmp_path / "topics.json").exists()
    known.check({"a": "1"})
    with pytest.raises(PositionLostError):
        known.check({"a": "2"})


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_damaged_file_is_reported_and_not_overwritten(tmp_path: Path, content: bytes):
    (tmp_path / "topics.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"topics\.json"):
        TopicIds(tmp_path).check({"a": "1"})
    assert (tmp_path / "topics.json").read_bytes() == content


def test_partition_that_ends_below_the_acknowledged_offset_was_truncated(tmp_path: Path):
    known = TopicIds(tmp_path)
    known.check({"a": "1"})
    with pytest.raises(LogTruncatedError, match="a/0 ends at offset 3, but was read up to 4"):
        check_ends({("a", 0): 3}, {("a", 0): 4}, tmp_path, lambda: known.check({"a": "1"}))
    check_ends({("a", 0): 4}, {("a", 0): 4}, tmp_path, lambda: pytest.fail("nothing was truncated"))


def test_topic_recreated_after_its_id_was_compared_was_not_truncated(tmp_path: Path):
    known = TopicIds(tmp_path)
    known.check({"a": "1"})
    with pytest.raises(TopicRecreatedError):
        check_ends({("a", 0): 0}, {("a", 0): 4}, tmp_path, lambda: known.check({"a": "2"}))
