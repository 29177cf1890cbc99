"""Texts that processes of several machines replace with compare-and-set: what a lease is kept in."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

from ingest.api import ConflictError
from ingest.durable.files import create_durably, file_errors, make_folder
from ingest.durable.remote import StatePath

_ATTEMPTS = 20
"""To replace a text that other processes replace too."""


class Register(ABC):
    """
    One text, or none. Thread-safe; `str` names it for messages.

    A call whose outcome is unknown can be repeated, so processes that compete for a register write different texts.
    """

    @abstractmethod
    def read(self) -> str | None:
        """
        The text; None if there is none.

        Raises:
            StoreUnavailableError: what has the text does not answer.
        """

    @abstractmethod
    def replace(self, before: str | None, after: str | None) -> bool:
        """
        Replace the text if it is the one before. Durable when it returns.

        Args:
            before: the expected text; None for none.
            after: the new text, which is not empty; None removes it.

        Returns:
            Whether it is the new text now.

        Raises:
            StoreUnavailableError: as `read`.
        """


def changed(register: Register, change: Callable[[str | None], str | None]) -> str | None:
    """
    Replace a text by what `change` makes of it, which is called again if another process has replaced it meanwhile.

    Args:
        register: has the text.
        change: returns the new text, or the present one if nothing is to change; None for none.

    Returns:
        The text that the register has now.

    Raises:
        ConflictError: others change it all the time.
        StoreUnavailableError: the register does not answer; the caller may repeat the call.
    """
    for _ in range(_ATTEMPTS):
        before = register.read()
        after = change(before)
        if after == before or register.replace(before, after):
            return after
    raise ConflictError(
        f'"{register}" changes all the time', hint="run the command again when no other process writes it"
    )


class Registers(ABC):
    """Registers by name, in one place. A name is one of a file."""

    @abstractmethod
    def named(self, name: str) -> Register:
        """A register; the same object for the same name is not promised."""

    @abstractmethod
    def texts(self, prefix: str, *, unchanged: str) -> Mapping[str, str]:
        """
        The texts of the registers whose names begin with a prefix, by name.

        A text that was there before the newest of these is one of them. So if texts name each other, and each is
        written after those that it names, they are complete.

        Args:
            prefix: of the names.
            unchanged: name of a register whose text does not change while the others are read.

        Raises:
            StoreUnavailableError: as `Register.read`.
        """


class FolderRegister(Register):
    """
    A register in a folder of its own, whose files are named by rising numbers: the highest one has the text.

    To replace the text is to create the file of the next number, which one process can. No file changes once it is
    there, and lower ones are removed. An empty file is no text, and stays: numbers never start again.
    """

    def __init__(self) -> None:
        self._known: tuple[int, str | None] = 0, None

    @abstractmethod
    def _names(self) -> list[str]:
        """Names in the folder; none without it."""

    @abstractmethod
    def _read(self, name: str) -> bytes:
        """The content of a file; raises FileNotFoundError."""

    @abstractmethod
    def _make_folder(self) -> None:
        """Create the folder, before its first file; it may exist."""

    @abstractmethod
    def _create(self, name: str, content: bytes) -> None:
        """Create a file, completely or not at all, and durably; raises FileExistsError if there is one."""

    @abstractmethod
    def _remove(self, name: str) -> None:
        """Remove a file, which may be missing."""

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Translates the other errors of the file system."""

    def read(self) -> str | None:
        """The text of the file with the highest number."""
        with self._errors():
            return self._newest()[1]

    def replace(self, before: str | None, after: str | None) -> bool:
        """Create the file of the next number."""
        with self._errors():
            number, text = self._newest()
            if text != before or text == after:
                return text == after
            if not number:
                self._make_folder()
            try:
                self._create(str(number + 1), (after or "").encode())
            except FileExistsError:  # of another process, or of this call, whose answer was lost
                return self._newest()[1] == after
            numbers = self._numbers()
            # else others have replaced the text since, and removed their file of this number
            is_newest = max(numbers, default=0) == number + 1
            if is_newest:
                self._known = number + 1, after
            with contextlib.suppress(OSError):  # the next call removes them
                for lower in numbers:
                    if lower <= number + (not is_newest):
                        self._remove(str(lower))
            return is_newest

    def _newest(self) -> tuple[int, str | None]:
        """The highest number, and its text; 0 and None for a folder without files."""
        while numbers := self._numbers():
            newest, known = max(numbers), self._known
            if newest == known[0]:
                return known
            with contextlib.suppress(FileNotFoundError):  # another process has created a higher one and removed it
                self._known = newest, self._read(str(newest)).decode("utf-8", "surrogateescape") or None
                return self._known
        return 0, None

    def _numbers(self) -> list[int]:
        return [int(name) for name in self._names() if name.isdecimal()]


class StateRegister(FolderRegister):
    """
    A register in a folder of state, on this machine or on a cluster.

    Args:
        folder: created by the first text; never remove it.
    """

    def __init__(self, folder: StatePath) -> None:
        super().__init__()
        self._folder = folder

    def __str__(self) -> str:
        return str(self._folder)

    def _names(self) -> list[str]:
        try:
            return [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []

    def _read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def _make_folder(self) -> None:
        make_folder(self._folder)

    def _create(self, name: str, content: bytes) -> None:
        create_durably(self._folder / name, content)

    def _remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        with file_errors(self._folder):
            yield


class StateRegisters(Registers):
    """
    Registers in a folder of state, a `StateRegister` each.

    Args:
        folder: created by the first text.
    """

    def __init__(self, folder: StatePath) -> None:
        self._folder = folder
        self._known: dict[str, Register] = {}

    def named(self, name: str) -> Register:
        """The register, which remembers its newest file."""
        return self._known.setdefault(name, StateRegister(self._folder / name))

    def texts(self, prefix: str, *, unchanged: str) -> Mapping[str, str]:
        """The texts, read until none has come or gone meanwhile, and the one that must not change has not."""
        found = self._texts(prefix)
        while True:
            now = self._texts(prefix)
            if found.keys() == now.keys() and found.get(unchanged) == now.get(unchanged):
                return found
            found = now

    def _texts(self, prefix: str) -> dict[str, str]:
        with file_errors(self._folder):
            try:
                names = sorted(path.name for path in self._folder.iterdir() if path.name.startswith(prefix))
            except FileNotFoundError:
                return {}
        return {name: text for name in names if (text := self.named(name).read()) is not None}
