"""Pinned entries are not removed."""

from pathlib import Path

import pytest

from ingest.api import NotFoundError
from ingest.durable.pin import pinned, unpinned
from ingest.durable.retention import remove
from tests.support.held import held_by_another


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    folder = tmp_path / "dumps" / "2015-02-24-00-00-00"
    (folder / "table").mkdir(parents=True)
    (folder / "table" / "rows").write_text("rows")
    (folder / "_SUCCESS").write_text("done")
    return folder


def test_pinned_entry_is_not_removed_until_its_last_pin_ends(entry: Path):
    with pinned(entry, "_SUCCESS"):
        with pinned(entry, "_SUCCESS"):
            assert not remove(entry, "_SUCCESS")
        assert not remove(entry, "_SUCCESS")
        assert (entry / "table" / "rows").read_text() == "rows"
    assert remove(entry, "_SUCCESS")
    assert not entry.exists()


def test_pin_of_a_killed_process_ends_with_it(entry: Path):
    code = "import contextlib\nfrom ingest.durable.pin import pinned\nopened = contextlib.ExitStack()\n"
    code += f"opened.enter_context(pinned(Path({str(entry)!r}), '_SUCCESS'))"
    with held_by_another(code) as other:
        assert not remove(entry, "_SUCCESS")
        other.kill()
        other.wait()
        assert remove(entry, "_SUCCESS")


@pytest.mark.parametrize("what", ["missing", "incomplete"])
def test_missing_or_incomplete_entry_cannot_be_pinned(entry: Path, what: str):
    if what == "missing":
        remove(entry, "_SUCCESS")
    else:
        (entry / "_SUCCESS").unlink()
    with pytest.raises(NotFoundError, match='does not exist, or has no "_SUCCESS"; choose'), pinned(entry, "_SUCCESS"):
        pass


def test_unpinned_detects_pins(entry: Path):
    with unpinned(entry) as is_free:
        assert is_free
    with pinned(entry, "_SUCCESS"), unpinned(entry) as is_free:
        assert not is_free
    with unpinned(entry / "none") as is_free:
        assert is_free
