"""
The command line: `attr2hbase`; `ingest` is another name of the same.

One file for each command, or for a group of them: it parses the arguments, calls its package, and passes the result to
`output`, the only module that prints. The file is imported when the command is typed (`app`). Nothing heavy is imported
here, and a file imports within a function what few runs of its command need and what takes long to import, because
`validate`, `test` and `explain` start in less than half a second.

Exit codes: 0 success, 1 failed while running, 2 wrong configuration or usage, 3 something requested does not
exist, 4 conflict or lock held, 5 stored data damaged, 6 a comparison failed (`diff`), 130 interrupted.
"""

import os
import signal
import sys
from collections.abc import Sequence
from getopt import GetoptError, getopt
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from ingest import __version__, garbage_collector
from ingest.cli.output import Output, OutputClosedError

OPTIONS_BEFORE = ("hf:", ("file=", "help", "install-completion", "no-color", "output=", "show-completion", "version"))
"""The options before the command, for `getopt`: the modules that declare them take a while to import."""
_PACKAGES = ("decorators", "sinks")
_FAILED = 1
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the entry point of both console scripts."""
    if arguments is None:
        garbage_collector.collect_rarely()
        garbage_collector.collect_nothing_at_exit()
        arguments = sys.argv[1:]
        _hold_hang_ups(arguments)
    arguments = list(arguments)
    out = Output(sys.stdout, sys.stderr, is_plain="--no-color" in arguments or bool(os.environ.get("NO_COLOR")))
    try:
        code = _run(arguments, out)
        out.flush()
    except KeyboardInterrupt:  # before or after a command
        out.note("interrupted", "yellow")
        return _INTERRUPTED
    except OutputClosedError:
        return 0
    except Exception as error:  # noqa: BLE001 - the outermost handler of the process
        return _failed(error, out)
    finally:
        out.close()
    return code


def _run(arguments: list[str], out: Output) -> int:
    _check_system()
    _check_packages()
    _note_other_copy(out)
    from ingest.cli.app import application

    if out.is_plain:
        os.environ["NO_COLOR"] = "1"  # for the help pages, which are rendered before options are parsed
    try:
        application()(args=arguments, prog_name="attr2hbase", obj=out)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _hold_hang_ups(arguments: Sequence[str]) -> None:
    """Let a SIGHUP wait until the service handles it, instead of ending a process that is about to be a service."""
    try:
        _, words = getopt(arguments, *OPTIONS_BEFORE)
    except GetoptError:  # the command will be refused
        return
    if sys.platform != "win32" and words[:1] == ["run"]:
        from ingest.service.lifecycle import HeldHangUps, hang_ups_are_ignored

        if not hang_ups_are_ignored():
            signal.signal(signal.SIGHUP, HeldHangUps())


def _check_system() -> None:
    """
    Refuse systems without the file locks and signals that the service needs.

    Raises:
        ConfigError: this is Windows.
    """
    if sys.platform == "win32":
        from ingest.api.errors import ConfigError

        raise ConfigError("attr2hbase does not run on Windows", hint="use Linux, macOS, or the Linux subsystem WSL 2")


def _check_packages() -> None:
    """
    Check that the packages beside `ingest` are this project's, before any of them is imported.

    Raises:
        ConfigError: a module of the same name comes first on the path.
    """
    here = Path(__file__).resolve().parents[2]
    for name in _PACKAGES:
        spec = find_spec(name)
        found = None if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), None)
        if found is not None and Path(found).resolve().parent != here / name:
            from ingest.api.errors import ConfigError

            raise ConfigError(
                f'"{found}" shadows the package "{here / name}"',
                hint="rename it, start in another folder, or remove its folder from PYTHONPATH",
            )


def _note_other_copy(out: Output) -> None:
    """Say so if this copy of the product runs in place of the installed one, because of its place on the path."""
    here = Path(__file__).resolve().parents[2]
    before = {*sys.path[:1], *os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    spec = PathFinder.find_spec("ingest", [folder for folder in sys.path if folder not in before])
    if spec is not None and spec.origin is not None and Path(spec.origin).resolve().parents[1] != here:
        installed = Path(spec.origin).resolve().parents[1]
        out.note(
            f'warning: attr2hbase {__version__} of "{here}" runs, not the one that is installed in "{installed}"; to '
            "run that one, start in another folder, or remove this one from PYTHONPATH",
            "yellow",
        )


def _failed(error: Exception, out: Output) -> int:
    from ingest.api.errors import IngestError, SystemCallFailedError

    if isinstance(error, IngestError):
        out.error(error)
        return out.failure_code if error.exit_code == _FAILED else error.exit_code
    if isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f' "{error.filename}"'
        is_denied = isinstance(error, PermissionError)
        hint = "check its owner and its permissions; state belongs to the user of the service" if is_denied else None
        out.error(SystemCallFailedError(f"{error.strerror.lower()}{place}", hint=hint))
        return out.failure_code
    out.bug(error, with_traceback=bool(os.environ.get("ATTR2HBASE_DEBUG")))
    return out.failure_code
