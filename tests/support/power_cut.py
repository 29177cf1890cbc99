"""
The possible content of a disk after a power cut: every state that the system calls of a process allow.

- A file keeps its synced content. Later content is present, missing, or a run of zeros.
- Changes to the names in a folder are applied in order. Any number of the last unsynced ones may be lost.

These are weaker guarantees than those of common file systems.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.disk_faults import Act

RETURNED = "returned"
"""File to which the process under test appends a byte after each call that returned."""


@dataclass
class _Entry:
    content: bytes = b""
    synced: bytes = b""
    is_folder: bool = False


Names = dict[str, _Entry]


@dataclass(frozen=True)
class _Change:
    """A change of a name: to an entry, possibly moved from another name, or deleted."""

    path: str
    entry: _Entry | None
    instead_of: str | None = None

    @property
    def folder(self) -> str:
        return str(Path(self.path).parent)

    def make(self, names: Names) -> None:
        if self.instead_of is not None:
            names.pop(self.instead_of, None)
        if self.entry is None:
            names.pop(self.path, None)
        else:
            names[self.path] = self.entry


@dataclass
class State:
    """
    The state after a power cut.

    Attributes:
        returned: number of calls that had returned before the cut.
        files: path -> content.
    """

    returned: int
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, folder: Path, instead_of: Path) -> Path:
        """Create the files in another folder."""
        folder.mkdir(parents=True)
        for path, content in self.files.items():
            place = folder / Path(path).relative_to(instead_of)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return folder


def states(acts: Sequence[Act]) -> Iterator[State]:
    """The distinct states after a power cut before each of the acts, and after the last."""
    disk, seen = _Disk(), set()
    for act in [*acts, None]:
        for files in disk.left():
            key = (disk.returned, *sorted(files.items()))
            if key not in seen:
                seen.add(key)
                yield State(disk.returned, files)
        if act is not None:
            disk.do(act)


class _Disk:
    def __init__(self) -> None:
        self.returned = 0
        self._now: Names = {}
        self._safe: Names = {}
        self._changes: list[_Change] = []  # not synced yet, in order

    def do(self, act: Act) -> None:
        if Path(act.path).name == RETURNED:
            self.returned += act.what == "write"
            return
        match act.what:
            case "mkdir":
                self._change(_Change(act.path, _Entry(is_folder=True)))
            case "open" | "open_empty":
                if act.path not in self._now:
                    self._change(_Change(act.path, _Entry()))
                elif act.what == "open_empty":
                    self._now[act.path].content = b""
            case "write":
                self._now[act.path].content += bytes.fromhex(act.more)
            case "rename":
                self._change(_Change(act.more, self._now[act.path], instead_of=act.path))
            case "link":
                self._change(_Change(act.more, self._now[act.path]))
            case "unlink":
                self._change(_Change(act.path, None))
            case "sync" if act.path in self._now and not self._now[act.path].is_folder:
                self._now[act.path].synced = self._now[act.path].content
            case "sync":
                for change in self._changes:
                    if change.folder == act.path:
                        change.make(self._safe)
                self._changes = [change for change in self._changes if change.folder != act.path]
            case other:
                raise AssertionError(f"unknown act {other}")

    def left(self) -> Iterator[dict[str, bytes]]:
        names = dict(self._safe)
        for change in [None, *self._changes]:
            if change is not None:
                change.make(names)
            files = {
                path: entry for path, entry in names.items() if not entry.is_folder and self._is_in_reach(path, names)
            }
            yield {path: file.content for path, file in files.items()}
            yield {path: file.synced for path, file in files.items()}
            yield {path: file.synced + bytes(len(file.content) - len(file.synced)) for path, file in files.items()}

    def _change(self, change: "_Change") -> None:
        change.make(self._now)
        self._changes.append(change)

    def _is_in_reach(self, path: str, names: Names) -> bool:
        """Whether the parent folders that were created here exist."""
        made = (str(folder) for folder in Path(path).parents if str(folder) in self._now)
        return all(folder in names for folder in made)
