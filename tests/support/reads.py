"""Counts reads of attributes."""

from collections import Counter


class Reads(dict[str, bytes]):
    """Attributes that count how often each is read, that is, how often a part of a template is evaluated."""

    def __init__(self, attributes: dict[str, bytes]) -> None:
        super().__init__(attributes)
        self.of: Counter[str] = Counter()

    def get(self, name: str, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        self.of[name] += 1
        return super().get(name, default)
