"""Options of the files source."""

from ingest.sources.files import FilesSourceSettings


def test_only_the_path_is_required():
    source = FilesSourceSettings.model_validate({"path": "x"})
    assert (source.path, source.format, source.max_event_bytes) == ("x", "raw", 1 << 20)


def test_format_and_maximum_size_are_read():
    source = FilesSourceSettings.model_validate({"path": "x", "format": "json", "max_event_bytes": "2KiB"})
    assert (source.format, source.max_event_bytes) == ("json", 2048)


def test_topic_is_fixed_for_the_path_of_one_file(tmp_path):
    def has_one_topic(path):
        return "topic" in FilesSourceSettings.model_validate({"path": str(path)}).fixed_names

    assert has_one_topic(tmp_path / "x.log")
    assert not has_one_topic(tmp_path)
    assert not has_one_topic(tmp_path / "*.log")
