"""The progress bar of long work, on a terminal."""

import io

from ingest.cli.output import Output


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(*steps: tuple[int, int | None], total: int | None = None) -> str:
    stderr = Terminal()
    out = Output(io.StringIO(), stderr, is_plain=True)
    with out.progress("micro-batches", total) as advance:
        for done, of in steps:
            advance(done, of)
    return stderr.getvalue()


def test_number_of_all_is_shown_once_it_is_known():
    assert "micro-batches" in shown((1, None))
    assert "3/60" in shown((1, None), (2, 60), (3, None))
    assert "4/5" in shown((4, None), total=5)
