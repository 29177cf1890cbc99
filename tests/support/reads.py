"""How often the attributes of an event are read."""

from collections import Counter


class Reads(dict[str, bytes]):
    """Attributes that count how often each is asked for its value: once for each time that a part is computed."""

    def __init__(self, attributes: dict[str, bytes]) -> None:
        super().__init__(attributes)
        self.of: Counter[str] = Counter()

    def get(self, name: str, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        self.of[name] += 1
        return super().get(name, default)
