"""Registers in properties of a table."""

import pytest

from ingest.durable.property_register import PropertyRegister, PropertyRegisters, calls_of
from ingest.durable.register import Register, Registers
from sinks.memory import MemoryStore
from tests.support.register_contract import WRITERS, RegisterContract, RegistersContract
from tests.support.updated_table import TABLE, UpdateWriter


class TestPropertyRegister(RegisterContract):
    @pytest.fixture
    def registers(self) -> list[Register]:
        calls = UpdateWriter(is_shared=True).calls
        return [PropertyRegister(calls, TABLE, "lease") for _ in range(WRITERS)]


class TestPropertyRegisters(RegistersContract):
    @pytest.fixture
    def places(self) -> list[Registers]:
        store = MemoryStore()
        store.open()
        return [PropertyRegisters(calls_of(store), "t") for _ in range(2)]
