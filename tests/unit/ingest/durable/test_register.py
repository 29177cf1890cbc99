"""Registers in a folder of state."""

import errno
from pathlib import Path

import pytest

from ingest.api import ConflictError, StoreUnavailableError
from ingest.durable.register import Register, Registers, StateRegister, StateRegisters, changed
from tests.support.register_contract import WRITERS, RegisterContract, RegistersContract


class TestStateRegister(RegisterContract):
    @pytest.fixture
    def registers(self, tmp_path: Path) -> list[Register]:
        return [StateRegister(tmp_path / "new" / "register") for _ in range(WRITERS)]


class TestStateRegisters(RegistersContract):
    @pytest.fixture
    def places(self, tmp_path: Path) -> list[Registers]:
        return [StateRegisters(tmp_path / "new" / "registers") for _ in range(2)]


class BusyRegister(StateRegister):
    """A register that others replace just before each of the first calls."""

    def __init__(self, folder: Path, others: int) -> None:
        super().__init__(folder)
        self._others = others

    def replace(self, before: str | None, after: str | None) -> bool:
        if self._others:
            self._others -= 1
            assert super().replace(self.read(), f"other {self._others}")
        return super().replace(before, after)


def test_text_is_changed_though_others_replace_it(tmp_path: Path) -> None:
    register = BusyRegister(tmp_path, 19)
    assert changed(register, lambda text: f"{text}, changed") == "other 0, changed"
    assert register.read() == "other 0, changed"
    assert changed(register, lambda text: text) == "other 0, changed"
    assert changed(register, lambda _: None) is None
    assert register.read() is None


def test_register_that_changes_all_the_time_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConflictError, match=f'^"{tmp_path}" changes all the time'):
        changed(BusyRegister(tmp_path, 20), lambda _: "changed")


class DelayedRegister(StateRegister):
    """A register whose process is suspended just before it creates a file; `meanwhile` runs then."""

    def __init__(self, folder: Path, meanwhile) -> None:
        super().__init__(folder)
        self._meanwhile = meanwhile

    def _create(self, name, content):
        self._meanwhile()
        super()._create(name, content)


def test_process_that_was_suspended_before_its_file_replaces_nothing(tmp_path):
    """Others have used its number meanwhile, and removed the file."""
    other = StateRegister(tmp_path)
    assert other.replace(None, "a")

    def meanwhile() -> None:
        assert other.replace("a", "b")
        assert other.replace("b", "c")

    assert not DelayedRegister(tmp_path, meanwhile).replace("a", "late")
    assert other.read() == "c"
    assert [path.name for path in tmp_path.iterdir()] == ["3"]


def test_only_the_newest_file_is_kept_and_numbers_rise(tmp_path):
    register = StateRegister(tmp_path)
    for _ in range(6):
        assert register.replace(None, "a")
        assert register.replace("a", None)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("12", b"")]


def test_error_while_lower_files_are_removed_ends_nothing(tmp_path, monkeypatch):
    register, unlink = StateRegister(tmp_path), Path.unlink
    assert register.replace(None, "a")

    def away(path: Path, *, missing_ok: bool = False) -> None:
        if path.name.isdecimal():
            raise OSError(errno.EHOSTUNREACH, "away")
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", away)
        assert register.replace("a", "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]
    assert register.read() == "b"
    assert register.replace("b", "c")
    assert [path.name for path in tmp_path.iterdir()] == ["3"]


def test_folder_that_cannot_be_read_is_unavailable(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailableError):
        StateRegister(tmp_path / "file" / "register").read()
