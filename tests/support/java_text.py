"""Text in tables with results of Java: printable ASCII, and `~00e9` for any other unit of UTF-16."""

import re

_UNITS = re.compile("(?:~[0-9a-f]{4})+")


def unescaped(text: str) -> str:
    """The text of a table."""
    return _UNITS.sub(lambda found: bytes.fromhex(found[0].replace("~", "")).decode("utf-16-be", "surrogatepass"), text)


def escaped(text: str) -> str:
    """A text as a table has it."""
    return "".join(each if " " <= each <= "}" else _units(each) for each in text)


def _units(character: str) -> str:
    return re.sub("....", r"~\g<0>", character.encode("utf-16-be").hex())
