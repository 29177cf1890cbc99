"""Topics that are deleted and recreated under their old names."""

from pathlib import Path

import pytest

from ingest.api import CheckpointError, PositionLostError
from ingest.service.topics import TopicIds


def test_a_topic_is_noted_when_it_is_first_seen_and_known_in_another_process(tmp_path: Path):
    TopicIds(tmp_path).check({"a": "1"})
    TopicIds(tmp_path).check({"a": "1", "b": "2"})
    TopicIds(tmp_path).check({"b": "2"})  # a is gone, which says nothing about its id
    with pytest.raises(PositionLostError):
        TopicIds(tmp_path).check({"a": "3"})


@pytest.mark.parametrize(
    ("now", "message", "way_out"),
    [
        ({"a": "9"}, 'topic "a" was deleted and recreated', "--start-from earliest"),
        ({"a": "9", "b": "2"}, 'topic "a" was deleted and recreated', "--start-from group"),
        ({"a": "9", "b": "8"}, 'topics "a", "b" were deleted and recreated', "--start-from earliest"),
    ],
)
def test_another_id_is_refused_and_stays_refused(tmp_path: Path, now: dict[str, str], message: str, way_out: str):
    TopicIds(tmp_path).check({"a": "1", "b": "2"} if "b" in now else {"a": "1"})
    for _ in range(2):
        with pytest.raises(PositionLostError) as caught:
            TopicIds(tmp_path).check(now)
        assert caught.value.message.startswith(message)
        assert way_out in str(caught.value)
        assert str(tmp_path) in str(caught.value)


def test_a_checkpoint_without_ids_gets_them(tmp_path: Path):
    known = TopicIds(tmp_path)
    known.check({})  # a broker that gives none
    assert not (tmp_path / "topics.json").exists()
    known.check({"a": "1"})
    with pytest.raises(PositionLostError):
        known.check({"a": "2"})


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_a_damaged_file_is_reported_and_not_overwritten(tmp_path: Path, content: bytes):
    (tmp_path / "topics.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"topics\.json"):
        TopicIds(tmp_path).check({"a": "1"})
    assert (tmp_path / "topics.json").read_bytes() == content
