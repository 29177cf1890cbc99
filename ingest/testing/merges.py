"""Processors and their examples, for tests."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ingest.api import Processor, ProcessorExample
from ingest.api.notation import name_to_bytes
from ingest.testing.events import settings_of

AnyProcessor = Processor[Any]


def processor_of(kind: type[AnyProcessor], example: ProcessorExample) -> AnyProcessor:
    """A processor with the options of an example."""
    return kind(settings_of(kind.settings_class(), example.settings))


def values_of(example: ProcessorExample) -> list[bytes]:
    """The values of an example, without the refused ones."""
    return [bytes_of(value) for value in example.values]


def read_of(processor: AnyProcessor, values: Sequence[bytes]) -> bytes:
    """What a read returns for values that were written one by one."""
    updates = [processor.update(value) for value in values]
    return processor.result(updates[0] if len(updates) == 1 else processor.merge(updates))


def merge_uses(kind: type[AnyProcessor]) -> Iterator[Callable[[], object]]:
    """A call for each example and for each of its values; valid until the next one is yielded."""
    for example in kind.merge_examples:
        processor = processor_of(kind, example)
        values = values_of(example)
        yield lambda processor=processor, values=values: read_of(processor, values)  # type: ignore[misc]
        for value in (*values, *map(bytes_of, example.refused)):
            yield lambda processor=processor, value=value: read_of(processor, [value, value])  # type: ignore[misc]


def bytes_of(text: str | bytes) -> bytes:
    """Bytes, or the bytes of a text."""
    return name_to_bytes(text) if isinstance(text, str) else text
