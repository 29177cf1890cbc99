"""Files for a bulk load, read by HBase's own tool."""

import os
import subprocess
from pathlib import Path

from ingest.api import Delete, Put
from sinks.hbase.hfile.cells import FileCells
from sinks.hbase.hfile.codecs import Codec
from sinks.hbase.hfile.writer import HFileFormat
from tests.support.local import HBaseServer, jars

SUPPORT = Path(__file__).parents[1] / "support"


def test_hbase_reads_the_file_of_each_codec(tmp_path: Path):
    """One JVM for all: it takes seconds to start."""
    puts = [
        Put(b"row %04d" % number, {b"f:a": b"value %d" % number, b"f:b": b"v" * (number % 300)}, 1000 + number)
        for number in range(1000)
    ]
    puts.append(Put(b"wide", {b"f:a": os.urandom(300_000)}, 5))
    deletes = [Delete(b"d%03d" % number, 9, family=b"f", qualifier=b"q", exact=bool(number % 2)) for number in range(9)]
    contents = {
        f"{codec.name}.{size}": HFileFormat(codec, size, index_bytes=4 * size)
        for codec in Codec
        for size in ((500,) if codec is not Codec.NONE else (500, 1 << 16))
    }
    files = {}
    for name, form in contents.items():
        files[name] = FileCells(10 << 20).files(puts, {b"f": form}, 1)
    markers = [*deletes, Delete(b"e", 9, family=b"f")]
    files["deletes"] = FileCells(10 << 20).files(markers, {b"f": HFileFormat()}, 1)
    for name, content in files.items():
        (tmp_path / name).write_bytes(b"".join(content[b"f"]))
    read = _read(tmp_path, [str(tmp_path / name) for name in files])
    for name in contents:
        lines = read[str(tmp_path / name)]
        keys = [line for line in lines if line.startswith("K: ")]
        assert len(keys) == 2001
        assert keys[1] == "K: row 0000/f:b/1000/Put/vlen=0/seqid=0"
        assert keys[-1] == "K: wide/f:a/5/Put/vlen=300000/seqid=0"
        text = "\n".join(lines)
        assert "Scanned kv count -> 2001" in text
        assert "No of Keys in bloom: 1001" in text
        assert not [line for line in lines if "Exception" in line or "WARNING" in line]
    assert [line for line in read[str(tmp_path / "deletes")] if line.startswith("K: ")] == [
        *(f"K: d{n:03}/f:q/9/{'Delete' if n % 2 else 'DeleteColumn'}/vlen=0/seqid=0" for n in range(9)),
        "K: e/f:/9/DeleteFamily/vlen=0/seqid=0",
    ]


def _read(folder: Path, files: list[str]) -> dict[str, list[str]]:
    """The lines that the tool prints for each file."""
    package = "org.apache.hadoop.hbase.io.compress.aircompressor"
    codecs = {f"hbase.io.compress.{name.lower()}.codec": f"{package}.{name}Codec" for name in ("Snappy", "Lz4", "Zstd")}
    server = HBaseServer(folder / "server", has_thrift=False, properties=codecs, java_options=jars.SHORT_LIVED)
    command = server.command(str(SUPPORT / "HFileReader.java"), *files, heap="512m")
    at = command.index("-cp") + 1
    command[at] += os.pathsep + jars.class_path("hfile-codecs", SUPPORT)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in done.stdout.splitlines():
        if line.startswith("file "):
            lines = found[line.removeprefix("file ")] = []
        elif line.startswith("status "):
            assert line == "status 0", done.stderr[-3000:]
        else:
            lines.append(line)
    return found
