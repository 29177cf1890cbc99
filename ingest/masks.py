"""Secrets of the configuration, replaced by `***` in text."""

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

MASK = "***"


class Masks:
    """
    The secrets of a configuration, masked in any text; part of the plan, so workers mask them too.

    Short secrets are replaced as well: an unreadable message is better than a secret in a log.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        for secret in secrets:
            self.add(secret)

    def __repr__(self) -> str:
        return f"Masks({len(self._secrets)} secrets)"

    def add(self, secret: str) -> None:
        """Mask this secret from now on, also in its quoted, JSON and URL-encoded forms."""
        for part in {secret, *secret.splitlines()} - {""}:
            in_json = {json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1]}
            self._secrets |= {part, quote(part, safe="", errors="replace"), repr(part)[1:-1], *in_json}
        self._compile()

    def _compile(self) -> None:
        longest_first = sorted(self._secrets, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def include(self, other: "Masks") -> None:
        """Also mask the secrets of another configuration from now on."""
        self._secrets |= other._secrets  # noqa: SLF001 - of this class
        self._compile()

    def hide(self, text: str) -> str:
        """The text with every secret replaced by `***`."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def hidden(self, content: Any) -> Any:
        """Plain data with the secrets in its texts replaced."""
        match content:
            case str():
                return self.hide(content)
            case list():
                return [self.hidden(each) for each in content]
            case dict():
                return {name: self.hidden(each) for name, each in content.items()}
            case _:
                return content

    def hide_bytes(self, content: bytes) -> bytes:
        """The same for bytes, which may not be valid UTF-8."""
        if self._pattern is None:
            return content
        return self.hide(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
