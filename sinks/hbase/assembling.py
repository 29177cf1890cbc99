"""
Joins the cells of a put from pieces that are kept, for a block of cells and for a file.

Encoding a put is the most frequent work of a writer. The bytes before the row key depend on the lengths of row key,
column and value, and those between row key and value on the column and the timestamp. Both are kept, so a put is one
`join` of kept pieces. For each number of cells a function is generated that has no loop; for each shape (length of the
row key, and the columns) it is bound to the shape's pieces. A shape is checked once, when it is new, and the size of a
cell when the length of its value is.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import cast

_MAX_GENERATED_CELLS = 64
"""A put with more cells is encoded by a loop: the generated function would be long, and the loop costs little."""
MAX_SHAPES = 4096
"""Bound on the memory of an encoder for tables whose columns come from the events."""
_MAX_HEADS = 65_536
"""Bound on the memory for values of very many lengths; each takes about 100 bytes."""

Assemble = Callable[[bytes, bytes, Iterable[bytes]], bytes]
"""The cells of a row: row key, timestamp with type, and the values of the shape's columns."""
_Binder = Callable[[list["Heads"], list[bytes], Assemble], Assemble]


class HeadCount:
    """
    The number of kept heads of all shapes of an encoder.

    Attributes:
        kept: the number.
    """

    def __init__(self) -> None:
        self.kept = 0

    @property
    def is_full(self) -> bool:
        """Whether no more heads are kept."""
        return self.kept >= _MAX_HEADS

    def may_keep(self) -> bool:
        """Count one more kept head, unless there are too many."""
        if self.is_full:
            return False
        self.kept += 1
        return True


class Heads:
    """
    The bytes before the row key, for one length of row key and column.

    Args:
        make: the bytes for a length of a value; raises RefusalError if the cell is too large.
        count: of the encoder.

    Attributes:
        known: length of a value -> these bytes. Generated functions read it, so it is a plain dict: CPython looks up
            a subclass of dict more slowly.
    """

    def __init__(self, make: Callable[[int], bytes], count: HeadCount) -> None:
        self.known: dict[int, bytes] = {}
        self._make = make
        self._count = count

    def of(self, value_bytes: int) -> bytes:
        """
        The bytes for a value of this length.

        Raises:
            RefusalError: the cell is too large.
        """
        head = self.known.get(value_bytes)
        if head is None:
            head = self._make(value_bytes)
            if self._count.may_keep():
                self.known[value_bytes] = head
        return head


def assembler(heads: list[Heads], names: list[bytes]) -> Assemble:
    """
    A function that joins the cells of a shape.

    Args:
        heads: of each column.
        names: of each column the bytes between the row key and the timestamp: length of the family, family, qualifier.
    """
    looping = _looping(heads, names)
    return looping if len(names) > _MAX_GENERATED_CELLS else _binder(len(names))(heads, names, looping)


def _looping(heads: list[Heads], names: list[bytes]) -> Assemble:
    pieces = list(zip(heads, names, strict=True))

    def assemble(row: bytes, stamp: bytes, values: Iterable[bytes]) -> bytes:
        parts: list[bytes] = []
        for (head, name), value in zip(pieces, values, strict=True):
            parts += (head.of(len(value)), row, name, stamp, value)
        return b"".join(parts)

    return assemble


@lru_cache(maxsize=_MAX_GENERATED_CELLS)
def _binder(cells: int) -> _Binder:
    """
    A function that binds the pieces of a shape with so many cells to a function that joins a row of it.

    The generated text depends on the number of cells alone. A KeyError tells that the head for the length of a value is
    not kept; then `looping` joins the row.
    """
    numbers = range(cells)
    heads, names, values = (", ".join(f"{letter}{n}" for n in numbers) + "," for letter in "hnv")
    row = "join(({}))".format("".join(f"h{n}[len(v{n})], row, n{n}, stamp, v{n}, " for n in numbers))
    lines = (
        "def bind(heads, names, looping):",
        f"    {heads} = [head.known for head in heads]",
        f"    {names} = names",
        "    def assemble(row, stamp, values):",
        f"        {values} = values",
        "        try:",
        f"            return {row}",
        "        except KeyError:",
        "            pass",
        f"        return looping(row, stamp, ({values}))",
        "    return assemble",
    )
    scope: dict[str, object] = {"join": b"".join}
    exec("\n".join(lines), scope)  # noqa: S102 - the text above, in which only a number varies
    return cast("_Binder", scope["bind"])
