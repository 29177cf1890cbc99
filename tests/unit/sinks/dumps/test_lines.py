"""Compressed files of lines."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.layout import FileFormat
from sinks.dumps.lines import read_lines, write_lines

FORMATS = [FileFormat.GZIP, FileFormat.ZSTD]
LINES = st.lists(st.binary(max_size=50).map(lambda line: line.replace(b"\n", b"") + b"\n"), max_size=20)


def written(lines, file_format):
    file = io.BytesIO()
    write_lines(file, lines, file_format)
    return file.getvalue()


def read(content, file_format=FileFormat.GZIP):
    return list(read_lines(io.BytesIO(content), "file", file_format))


@pytest.mark.parametrize("file_format", FORMATS)
@given(parts=st.lists(LINES, max_size=3))
def test_lines_of_several_parts_come_back(parts, file_format):
    content = b"".join(written(lines, file_format) for lines in parts)
    expected = [line[:-1] for lines in parts for line in lines]
    assert read(content, file_format) == list(enumerate(expected, start=1))


@pytest.mark.parametrize("file_format", FORMATS)
def test_equal_lines_give_equal_bytes(file_format):
    lines = [b"line %d\n" % number for number in range(100_000)]
    assert written(lines, file_format) == written(iter(lines), file_format)
    assert len(read(written(lines, file_format), file_format)) == 100_000


@pytest.mark.parametrize("file_format", FORMATS)
def test_long_lines(file_format):
    lines = [bytes([65 + number]) * 3_000_000 + b"\n" for number in range(3)]
    assert [line + b"\n" for _, line in read(written(lines, file_format), file_format)] == lines


def test_last_line_may_have_no_end():
    assert read(gzip.compress(b"a\nb")) == [(1, b"a"), (2, b"b")]
    assert read(gzip.compress(b"a\n\n")) == [(1, b"a"), (2, b"")]
    assert read(b"") == []


def test_line_may_cross_members_and_zeros_may_follow_them():
    assert read(gzip.compress(b"a") + b"\0" * 70_000 + gzip.compress(b"b\n") + b"\0") == [(1, b"ab")]


@pytest.mark.parametrize("file_format", FORMATS)
def test_truncated_file(file_format):
    lines = [b"%d\n" % (number * 7919) for number in range(50_000)]
    whole = written(lines, file_format)
    found = []
    with pytest.raises(DumpCorruptError) as damaged:
        found.extend(read_lines(io.BytesIO(whole[:-10]), "file", file_format))
    assert damaged.value.file == "file"
    assert damaged.value.offset is not None


@pytest.mark.parametrize("file_format", FORMATS)
def test_other_content(file_format):
    with pytest.raises(DumpCorruptError, match='"file", byte'):
        read(b"no compressed file", file_format)
