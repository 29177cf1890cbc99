"""
The command line: `ingest`, and the same under the name `attr2hbase`.

One file per command: it parses, imports the room it needs inside the function, calls it, and hands the result to
`output`, the only place that prints. Nothing heavy is imported here, because `validate`, `test` and `explain` start in
less than half a second.

Exit codes: 0 fine, 1 failed while running, 2 wrong configuration or usage, 3 something asked for is not there,
4 conflict or lock held, 5 stored data damaged, 130 interrupted.
"""

import os
import sys
from collections.abc import Sequence

from ingest.cli.output import Output, OutputClosedError

_FAILED = 1
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; the entry point of both console scripts."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    out = Output(sys.stdout, sys.stderr, is_plain="--no-color" in arguments or bool(os.environ.get("NO_COLOR")))
    try:
        code = _run(arguments, out)
        out.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OutputClosedError:
        return 0
    except Exception as error:  # noqa: BLE001 - the one place where everything ends
        return _failed(error, out)
    finally:
        out.close()
    return code


def _run(arguments: list[str], out: Output) -> int:
    from ingest.cli.app import application

    if out.is_plain:
        os.environ["NO_COLOR"] = "1"  # for the help pages, which are drawn before an option is read
    try:
        application()(args=arguments, prog_name="ingest", obj=out)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _failed(error: Exception, out: Output) -> int:
    from ingest.api.errors import IngestError

    if isinstance(error, IngestError):
        out.error(error)
        return error.exit_code
    if isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f' "{error.filename}"'
        out.error(IngestError(f"{error.strerror.lower()}{place}", code="os"))
        return _FAILED
    out.bug(error, with_traceback=bool(os.environ.get("INGEST_DEBUG")))
    return _FAILED
