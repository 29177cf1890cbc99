import json
from pathlib import Path

from tests.support.checkpoint import Batch, CheckpointReader
from tests.support.ledger.observed import FoundDeadLetter, batches_of, dead_letters_in_files


def dead_letter(offset: int, batch_time_ms: int, value: object) -> str:
    record = {"partition": 2, "offset": offset, "value": value, "headers": [["pn", "0:1"], [{"b64": "w7w="}, None]]}
    return json.dumps({"code": "no_attribute", "batch_time_ms": batch_time_ms, "record": record, "pointer": None})


def test_letters_in_files(tmp_path: Path) -> None:
    folder = tmp_path / "dead-letters" / "p"
    folder.mkdir(parents=True)
    (folder / "1.jsonl").write_text(dead_letter(5, 10, {"b64": "AP8="}) + "\n" + dead_letter(6, 10, "ü") + "\n")
    (folder / "2.jsonl").write_text(dead_letter(5, 11, None) + "\n")
    headers = (("pn", b"0:1"), ("ü", None))
    assert dead_letters_in_files(tmp_path, "p") == {
        (2, 5): [
            FoundDeadLetter(2, 5, "no_attribute", 10, b"\0\xff", headers),
            FoundDeadLetter(2, 5, "no_attribute", 11, None, headers),
        ],
        (2, 6): [FoundDeadLetter(2, 6, "no_attribute", 10, "ü".encode(), headers)],
    }
    assert dead_letters_in_files(tmp_path, "other") == {}


def checkpoint(folder: Path, *, last: int, plans: dict[int, int]) -> CheckpointReader:
    for name in ("offsets", "commits", "times", "sources/0"):
        (folder / name).mkdir(parents=True)
    (folder / "sources" / "0" / "0").write_bytes(b"\0v1\n" + json.dumps({"t": {"0": 3}}).encode())
    for number, end in plans.items():
        (folder / "offsets" / str(number)).write_text("v1\n{}\n" + json.dumps({"t": {"0": end}}))
        (folder / "times" / str(number)).write_text(str(100 + number))
        if number <= last:
            (folder / "commits" / str(number)).write_text("v1\n{}")
    return CheckpointReader(folder)


def test_first_batch_starts_at_the_offsets_of_the_source_log(tmp_path: Path) -> None:
    found = batches_of(checkpoint(tmp_path, last=1, plans={0: 10, 1: 25, 2: 40}), "t")
    assert found == [Batch(0, 100, {0: 3}, {0: 10}), Batch(1, 101, {0: 10}, {0: 25})]


def test_batch_without_start_offsets_is_left_out(tmp_path: Path) -> None:
    assert batches_of(checkpoint(tmp_path, last=6, plans={5: 10, 6: 25}), "t") == [Batch(6, 106, {0: 10}, {0: 25})]
