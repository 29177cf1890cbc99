"""The effective configuration as YAML: merged, expanded, secrets masked."""

from collections.abc import Iterator

from ingest.config.model import Configuration
from ingest.config.writing import flow, plain_or_quoted


def effective_yaml(configuration: Configuration) -> str:
    """The effective configuration; with several files, a comment after each value has its file and line."""
    files = {place.file for place in configuration.origins.values()}
    lines = _Lines(configuration, with_places=len(files) > 1)
    return "\n".join(lines.of(configuration.effective, (), "")) + "\n"


class _Lines:
    def __init__(self, configuration: Configuration, *, with_places: bool) -> None:
        self._origins = configuration.origins
        self._with_places = with_places

    def of(self, value: object, path: tuple[str | int, ...], indent: str) -> Iterator[str]:
        items: list[tuple[str | int, str, object]]
        if isinstance(value, dict):
            items = [(key, f"{plain_or_quoted(key)}:", child) for key, child in value.items()]
        elif isinstance(value, list):
            items = [(index, "-", child) for index, child in enumerate(value)]
        else:
            items = []
        for key, head, child in items:
            inner = (*path, key)
            if isinstance(child, dict | list) and child:
                yield f"{indent}{head}"
                yield from self.of(child, inner, indent + "  ")
            else:
                yield f"{indent}{head} {flow(child)}{self._place(inner)}"

    def _place(self, path: tuple[str | int, ...]) -> str:
        place = self._origins.get(path)
        return f"  # {place.file}:{place.line}" if self._with_places and place is not None else ""
