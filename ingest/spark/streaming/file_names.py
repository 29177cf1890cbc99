r"""
Paths as text that can be written anywhere: the topic of a file's records, its name in offsets and in messages.

A path is bytes, and need not be UTF-8. Text that is UTF-8 stays as it is. Any other byte becomes `\xe9`, as a shell's
`$'…'` takes it, and what already looks like that in a path gets its backslashes doubled: no two paths have one text.
"""

import os
import re
from pathlib import Path

_LOOKS_ESCAPED = re.compile(r"(\\+)(x[89a-f][0-9a-f])")
_NO_UTF8 = re.compile(r"(\\*)([\udc80-\udcff])")
_ESCAPE = re.compile(r"(\\+)x([89a-f][0-9a-f])")


def text_of(path: Path) -> str:
    """The text of a path."""
    # not as this process reads names: another one may have another locale
    text = os.fsencode(path).decode("utf-8", "surrogateescape")
    text = _LOOKS_ESCAPED.sub(r"\1\1\2", text)
    return _NO_UTF8.sub(lambda found: f"{found[1] * 2}\\x{ord(found[2]) - 0xDC00:02x}", text)


def path_of(text: str) -> Path:
    """The path that has this text."""
    return Path(os.fsdecode(_ESCAPE.sub(_unescaped, text).encode("utf-8", "surrogateescape")))


def _unescaped(found: re.Match[str]) -> str:
    slashes, is_byte = divmod(len(found[1]), 2)
    return "\\" * slashes + (chr(0xDC00 + int(found[2], 16)) if is_byte else f"x{found[2]}")
