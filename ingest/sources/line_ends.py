"""Lines of files in encodings that contain ASCII, and in UTF-16, where the byte of an LF may be half a character."""

from dataclasses import dataclass
from typing import IO

from ingest.api.source import Encoding
from ingest.formats import byte_order_marks

_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LineEnds:
    """
    How the lines of a file end.

    Attributes:
        mark: the byte order mark of the encoding.
        lf: a line feed.
        cr: a carriage return.
    """

    mark: bytes
    lf: bytes
    cr: bytes

    @property
    def width(self) -> int:
        """Bytes of a code unit: the offset of every line is a multiple of it."""
        return len(self.lf)

    def read_line(self, file: IO[bytes], most: int) -> bytes:
        """The next line with its end, cut after so many bytes; the position of the file is the start of a code unit."""
        if self.width == 1:
            return file.readline(most)
        line = bytearray()
        most -= most % self.width
        while len(line) < most and (piece := file.readline(most - len(line))):
            line += piece
            if len(line) % self.width:
                line += file.read(1)  # the other half of the character, which readline has cut
            if line.endswith(self.lf):
                break
        return bytes(line)

    def skip_line(self, file: IO[bytes]) -> int:
        """Go to the start of the next line; returns the number of bytes in between."""
        skipped = 0
        while piece := self.read_line(file, _BUFFER_BYTES):
            skipped += len(piece)
            if piece.endswith(self.lf):
                break
        return skipped

    def after_last(self, piece: bytes) -> int | None:
        """The index after the last line end of bytes that begin with a code unit; None without one."""
        at = len(piece)
        while (at := piece.rfind(self.lf, 0, at)) >= 0:
            if at % self.width == 0:
                return at + self.width
            at += self.width - 1  # half of one character and half of the next
        return None

    def without_end(self, line: bytes) -> bytes:
        """A line without LF or CR LF."""
        return line.removesuffix(self.lf).removesuffix(self.cr)


LINE_ENDS = {
    Encoding.UTF8: LineEnds(byte_order_marks.UTF8, b"\n", b"\r"),
    Encoding.UTF16LE: LineEnds(byte_order_marks.UTF16LE, b"\n\0", b"\r\0"),
    Encoding.UTF16BE: LineEnds(byte_order_marks.UTF16BE, b"\0\n", b"\0\r"),
}


def encoding_by_mark(start: bytes) -> Encoding | None:
    """The encoding whose byte order mark a file starts with; None without one."""
    return next((encoding for encoding, ends in LINE_ENDS.items() if start.startswith(ends.mark)), None)
