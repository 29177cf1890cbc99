"""The memory of this process."""

from ingest import process_memory


def test_memory_grows_with_what_is_used():
    before = process_memory.resident_bytes()
    kept = b"x" * (64 << 20)
    assert process_memory.resident_bytes() > before + len(kept) // 2


def test_memory_is_unknown_where_the_system_does_not_tell_it(monkeypatch, tmp_path):
    monkeypatch.setattr(process_memory, "_STATM", tmp_path / "none")
    assert process_memory.resident_bytes() == 0
