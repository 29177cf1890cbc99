"""How deep the calls are from a task to its store, and that no layer calls back."""

import sys
from collections.abc import Sequence
from itertools import groupby

import pytest

from ingest.api import Capabilities, Decoding, Event, FamilySpec, Mutation, OnError, TableSpec
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.masks import Masks
from ingest.pipeline.chain import Chain
from ingest.pipeline.dead_lettering import DeadLetterMaker
from ingest.pipeline.sink_binding import SinkBinding
from ingest.pipeline.task import Task
from ingest.pipeline.time_limit import TimeLimit
from ingest.receipt import TaskStatus
from ingest.sources.decoding import Decoder
from sinks.mapping.attr2hbase import Attr2HBase, Attr2HBaseSettings
from sinks.memory import MemoryStore
from sinks.writing.sending import DirectSender
from sinks.writing.writer import Writer
from tests.support.plans import record
from tests.support.way import sink_of
from tests.support.without_spark import spec_of

MAX_FRAMES = 10


class Called(MemoryStore):
    """Remembers the functions between a task and each call: module and name, from the task to the store."""

    def __init__(self) -> None:
        super().__init__()
        self.stacks: list[list[tuple[str, str]]] = []

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        frame = sys._getframe().f_back
        stack = []
        while frame is not None:
            stack.append((frame.f_globals["__name__"], frame.f_code.co_qualname))
            if frame.f_code is Task.run.__code__:
                break
            frame = frame.f_back
        self.stacks.append(stack[::-1])
        super().apply(table, mutations)


@pytest.mark.parametrize("buffer_bytes", [1, 1 << 20], ids=["sent by an event", "sent by the flush"])
def test_a_task_calls_its_store_through_few_layers_and_none_of_them_twice(buffer_bytes: int) -> None:
    store = Called()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    tasks_write = Capabilities(written_by_driver=False, creates_families=True, creates_tables=True)
    sink = sink_of(
        [DirectSender(store)], capabilities=tasks_write, buffer_bytes=buffer_bytes, folded_bytes=buffer_bytes
    )
    decoder = Decoder(Decoding(), "replace")
    mapper = Attr2HBase(Attr2HBaseSettings.model_validate({"table": "t", "write_body": "f:line"}))
    task = Task(
        decode=lambda record: _with_row_key(decoder.decode(record)),
        chain=Chain([]),
        bindings=[SinkBinding("s", Writer(mapper, sink).write, OnError.DEAD_LETTER)],
        destinations={"logs": sink},
        on_error=OnError.DEAD_LETTER,
        dead_letter_maker=DeadLetterMaker("p", ""),
        dead_letters=DeadLetterBuffer(Masks()),
        time_limit=TimeLimit([]),
    )
    records = [record(str(number), "1", number) for number in range(5)]
    assert task.run(records, spec_of(5)).status is TaskStatus.DURABLE
    is_timed = [("ingest.pipeline.task", "Task._run_timed") in stack for stack in store.stacks]
    assert len(is_timed) > sum(is_timed) <= 1
    for stack, has_more in zip(store.stacks, is_timed, strict=True):
        assert len(stack) <= MAX_FRAMES or has_more, stack
        layers = [module for module, _ in groupby(module for module, _ in stack)]
        assert len(layers) == len(set(layers)), f"{layers} goes back"


def _with_row_key(event: Event) -> Event:
    event.attributes["2hb_"] = event.key
    return event
