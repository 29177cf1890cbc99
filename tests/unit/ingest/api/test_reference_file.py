"""A file that is looked things up in, read again when it has changed."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Disposition
from ingest.api.files import ReferenceFile, ReferenceFileError


def number(path: Path) -> int:
    return int(path.read_text())


def write(path: Path, content: str, *, age_s: float = 60, now: float = 1_000_000.0) -> None:
    path.write_text(content)
    os.utime(path, (now - age_s, now - age_s))


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "f", "1")
    return tmp_path / "f"


@pytest.fixture
def file(path):
    return ReferenceFile(str(path), number, now=lambda: 1_000_000.0)


def test_it_is_read_when_made(file):
    assert file.content == 1
    assert file.refresh() is False


def test_a_new_content_is_taken(file, path):
    write(path, "22", age_s=50)
    assert (file.refresh(), file.content, file.refresh()) == (True, 22, False)


def test_another_file_of_the_same_size_and_time_is_taken(file, path):
    write(path.with_name("new"), "2")
    path.with_name("new").rename(path)
    assert (file.refresh(), file.content) == (True, 2)


def test_a_file_that_was_written_to_just_now_has_to_rest(file, path):
    write(path, "2", age_s=1.9)
    assert (file.refresh(), file.content) == (False, 1)
    write(path, "2", age_s=2.1)
    assert (file.refresh(), file.content) == (True, 2)


def test_a_time_that_is_yet_to_come_is_not_waited_for(file, path):
    write(path, "2", age_s=-1000)
    assert (file.refresh(), file.content) == (True, 2)


def test_a_file_that_changes_while_it_is_read_is_not_taken(path):
    grows = iter([False, False, True, False])

    def read(path: Path) -> int:
        found = number(path)
        if next(grows):
            write(path, "333", age_s=40)
        return found

    file = ReferenceFile(str(path), read, now=lambda: 1_000_000.0)
    write(path, "2", age_s=50)
    assert ReferenceFile(str(path), number).content == 2
    assert (file.refresh(), file.content) == (True, 2)
    write(path, "22", age_s=45)
    assert (file.refresh(), file.content) == (False, 2)
    assert (file.refresh(), file.content) == (True, 333)


def test_a_file_that_changes_while_the_step_is_made_is_refused(path):
    def read(path: Path) -> int:
        write(path, "22", age_s=50)
        return number(path)

    with pytest.raises(ReferenceFileError, match="it is being written to"):
        ReferenceFile(str(path), read)


@pytest.mark.parametrize("content", [None, "", "x"])
def test_a_file_that_is_gone_or_broken_blocks_and_is_taken_when_it_is_good(file, path, content):
    if content is None:
        path.unlink()
    else:
        write(path, content, age_s=50)
    for _ in range(2):
        with pytest.raises(ReferenceFileError) as caught:
            file.refresh()
        assert str(path) in str(caught.value)
        assert caught.value.disposition is Disposition.RETRY
        assert file.content == 1
    write(path, "3", age_s=40)
    assert (file.refresh(), file.content) == (True, 3)


def test_what_stands_beside_it_counts_unless_it_is_empty(path):
    file = ReferenceFile(str(path), number, now=lambda: 1_000_000.0, beside=("-wal",))
    log = path.with_name("f-wal")
    write(log, "", age_s=50)
    assert file.refresh() is False
    write(log, "x", age_s=1.9)
    assert file.refresh() is False
    write(log, "x", age_s=50)
    assert (file.refresh(), file.refresh()) == (True, False)
    write(log, "y", age_s=40)
    assert (file.refresh(), file.refresh()) == (True, False)
    log.unlink()
    assert (file.refresh(), file.refresh()) == (True, False)


def test_error_for_a_missing_file_names_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReferenceFileError) as caught:
        ReferenceFile("none", number)
    assert str(caught.value) == (
        'cannot use "none": No such file or directory; replace it by a valid file; paths are relative to the current '
        f'folder, "{tmp_path}"'
    )


@given(st.lists(st.tuples(st.sampled_from(["1", "22", "x", None]), st.sampled_from([1.5, 60.0])), max_size=8))
def test_whatever_happens_the_content_is_one_that_was_good(tmp_path_factory, changes):
    path = tmp_path_factory.mktemp("any") / "f"
    write(path, "7")
    file = ReferenceFile(str(path), number, now=lambda: 1_000_000.0)
    good = 7
    for step, (content, age_s) in enumerate(changes):
        if content is None:
            path.unlink(missing_ok=True)
        else:
            write(path, content, age_s=age_s - (step + 1) / 100)
        try:
            refreshed = file.refresh()
        except ReferenceFileError:
            assert content in ("x", None)
        else:
            assert refreshed is (content in ("1", "22") and age_s > 2)
            good = int(content) if refreshed else good
        assert file.content == good
