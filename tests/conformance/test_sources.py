"""Every source meets the contract, also one of a plugin."""

import importlib
from pathlib import Path

import pytest

from ingest.service.files_source import FilesSource
from ingest.service.kafka.source import KafkaSource
from ingest.testing.sources import SourceContract, SourceKit
from tests.support.sources import TICKING, driver_context


class TestFiles(SourceContract):
    @pytest.fixture
    def kit(self, tmp_path: Path) -> SourceKit:
        settings = FilesSource.settings_class()
        one, another = (settings.model_validate({"path": str(tmp_path / name)}) for name in ("*.a", "*.b"))
        return SourceKit(FilesSource, one, another, driver_context(tmp_path))


class TestKafka(SourceContract):
    @pytest.fixture
    def kit(self, tmp_path: Path) -> SourceKit:
        settings = KafkaSource.settings_class()
        one, another = (
            settings.model_validate({"brokers": "localhost:9092", "topics": [topic]}) for topic in ("a", "b")
        )
        return SourceKit(KafkaSource, one, another, driver_context(tmp_path), needs_system=True)


class TestPlugin(SourceContract):
    @pytest.fixture
    def kit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceKit:
        (tmp_path / "ticking_kit.py").write_text(TICKING)
        monkeypatch.syspath_prepend(tmp_path)
        ticking = importlib.import_module("ticking_kit").Ticking
        settings = ticking.settings_class()
        return SourceKit(ticking, settings.model_validate({"rows": 3}), settings.model_validate({"rows": 4}))

    def test_plugin_promises_nothing_by_default(self, kit: SourceKit) -> None:
        settings = kit.settings
        assert (settings.has_batch_log, settings.keeps_batch_times, settings.read_again_by) == (False, False, None)
