r"""
Paths as text: the topic of a file's records, and the name of the file in offsets and messages.

A path is bytes, which need not be UTF-8. UTF-8 is unchanged. Any other byte becomes an escape such as `\xe9`, as in a
shell's `$'…'`. Backslashes of such an escape in the path itself are doubled, so no two paths have the same text.
"""

import os
import re
from pathlib import Path

_LOOKS_ESCAPED = re.compile(r"(\\+)(x[89a-f][0-9a-f])")
_NO_UTF8 = re.compile(r"(\\*)([\udc80-\udcff])")
_ESCAPE = re.compile(r"(\\+)x([89a-f][0-9a-f])")


def text_of(path: Path) -> str:
    """The text of a path."""
    # not by the locale of this process: another process may have another one
    text = os.fsencode(path).decode("utf-8", "surrogateescape")
    text = _LOOKS_ESCAPED.sub(r"\1\1\2", text)
    return _NO_UTF8.sub(lambda found: f"{found[1] * 2}\\x{ord(found[2]) - 0xDC00:02x}", text)


def path_of(text: str) -> Path:
    """The path that has this text."""
    return Path(os.fsdecode(_ESCAPE.sub(_unescaped, text).encode("utf-8", "surrogateescape")))


def _unescaped(found: re.Match[str]) -> str:
    slashes, is_byte = divmod(len(found[1]), 2)
    return "\\" * slashes + (chr(0xDC00 + int(found[2], 16)) if is_byte else f"x{found[2]}")
