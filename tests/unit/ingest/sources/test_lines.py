"""Lines of files: byte order marks, and UTF-16."""

import gzip
import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Encoding
from ingest.sources import lines as source_lines
from ingest.sources.lines import UnreadableFileError, check_readable, lines_in, lines_of

UTF16 = [Encoding.UTF16LE, Encoding.UTF16BE]
TEXT = st.lists(st.sampled_from(["a", "\n", "\r\n", "\r", "é", "\u0a0a", "\u0a00", "\U0001f60a"]), max_size=20)


def texts(found, encoding):
    return [line.decode(encoding) for _, line in found]


@pytest.mark.parametrize("name", ["x", "x.gz"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfa\nb\n", [(0, b"a"), (5, b"b")]),
        (b"\xef\xbb\xbf\r\nb", [(0, b""), (5, b"b")]),
        (b"a\n\xef\xbb\xbfb", [(0, b"a"), (2, b"\xef\xbb\xbfb")]),
        (b"\xef\xbb\xbf", []),
        (b"\xff\xfe", []),
        (b"\xef\xbb", [(0, b"\xef\xbb")]),
        (b"\xff\xfea\0\r\0\n\0b\0\n\0", [(0, b"a\0"), (8, b"b\0")]),
        (b"\xfe\xff\0a\0\n\n\n\0\n\0b", [(0, b"\0a"), (6, b"\n\n"), (10, b"\0b")]),
    ],
)
def test_mark_at_the_start_of_a_file_is_removed(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert list(lines_of(str(path), 100)) == expected
    assert list(lines_in(io.BufferedReader(io.BytesIO(content)), 100, "stdin")) == expected


@given(
    text=TEXT, cuts=st.lists(st.integers(0, 60), max_size=4), has_mark=st.booleans(), encoding=st.sampled_from(UTF16)
)
def test_ranges_of_utf16_contain_every_line_once(tmp_path_factory, text, cuts, has_mark, encoding):
    content = (("\ufeff" if has_mark else "") + "".join(text)).encode(encoding)
    path = tmp_path_factory.mktemp("files") / "x"
    path.write_bytes(content)
    borders = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    found = [pair for start, stop in pairwise(borders) for pair in lines_of(str(path), 1_000, start, stop, encoding)]
    parts = "".join(text).split("\n")
    expected = [part.removesuffix("\r") for part in (parts if parts[-1] else parts[:-1])]
    assert texts(found, encoding) == expected
    assert [offset for offset, _ in found] == sorted({offset for offset, _ in found})


@pytest.mark.parametrize("encoding", UTF16)
def test_long_line_of_utf16_is_cut_between_characters(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(source_lines, "MAX_LINE_BYTES", 7)
    path = tmp_path / "x"
    path.write_bytes(("\u0a0a" * 50 + "\nb\n").encode(encoding))
    found = list(lines_of(str(path), 5, encoding=encoding))
    assert texts(found, encoding) == ["\u0a0a" * 5, "b"]
    assert found[1][0] == 102


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"\xfe\xff\0a", Encoding.UTF16LE, "has the byte order mark of utf-16be, `encoding` is utf-16le"),
        (b"\xef\xbb\xbfa", Encoding.UTF16BE, "has the byte order mark of utf8, `encoding` is utf-16be"),
    ],
)
def test_mark_of_another_encoding_is_an_error(tmp_path, content, encoding, message):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=message):
        list(lines_of(str(path), 100, encoding=encoding))
    with pytest.raises(UnreadableFileError, match=message):
        check_readable(str(path), encoding)


WHOLE = gzip.compress(b"1234567890\n" * 300, mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (WHOLE[:5], "ended before"),
        (WHOLE[:-8], "ended before"),
        (WHOLE[:-8] + bytes(4) + WHOLE[-4:], "CRC check failed"),
        (WHOLE + b"garbage", "Not a gzipped file"),
        (b"2026-11-20 08:15:01 a line\n", "Not a gzipped file"),
        (b"PK\3\4" + bytes(30), "Not a gzipped file"),
    ],
)
def test_damaged_gzip_is_known_before_its_lines_are_read(tmp_path, content, message):
    """
    Cut by a full disk, without the trailer that a killed writer owes, with bytes of two writers, and misnamed files.

    RFC 1952, 2.2: a file is a series of members, and nothing else.
    """
    path = tmp_path / "x.gz"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=message) as caught:
        check_readable(str(path))
    assert caught.value.code == "damaged_file"


@pytest.mark.parametrize("content", [WHOLE, WHOLE[:0], WHOLE + bytes(512), WHOLE + gzip.compress(b"", mtime=0)])
def test_whole_gzip_is_readable(tmp_path, content):
    """Also one padded with zeros, as from a tape, of two members, and an empty file."""
    path = tmp_path / "x.gz"
    path.write_bytes(content)
    check_readable(str(path))
    assert len(list(lines_of(str(path), 100))) == (300 if content else 0)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("\ufeff2021-03-01 10:49:16.86 Server      Microsoft SQL Server 2019\r\n\tSep 24\r\n\r\nĊ ਊ\r\n", UTF16[0]),
        ("\ufeff11/08/2011 10:00:00 [1]: à é\r\nx", UTF16[1]),
        ('\0"2020-02-12 10:00","NT AUTHORITY"\r\n"b","😀"\r\n', UTF16[0]),
    ],
)
@pytest.mark.parametrize("name", ["x", "x.gz"])
def test_logs_of_windows(tmp_path, name, text, encoding):
    """SQL Server's ERRORLOG, .NET's ngen, and simplewall, whose mark was overwritten by zeros."""
    path = tmp_path / name
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    expected = text.removeprefix("\ufeff").removesuffix("\r\n").split("\r\n")
    assert texts(lines_of(str(path), 1_000, encoding=encoding), encoding) == expected
