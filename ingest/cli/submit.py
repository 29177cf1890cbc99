"""`attr2hbase submit`: the same service under spark-submit."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.run import LogLevelOption, OnceOption, RecountOption, StartOption, TakeOverOption

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration


def submit(  # noqa: PLR0913 - its options
    out: Output,
    file: FileArgument,
    *,
    printed: Annotated[bool, typer.Option("--print", help="Print the command without running it.")] = False,
    archive: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Pack the Python packages and jars of this environment into a file (.tar.gz), unless the file is "
            "up to date, and send it to the executors. A URL is sent without packing.",
        ),
    ] = None,
    once: OnceOption = False,
    start_from: StartOption = None,
    take_over: TakeOverOption = False,
    recount: RecountOption = False,
    log_level: LogLevelOption = None,
) -> None:
    """
    Run the pipelines of a file with spark-submit, on the master the file names.

    Example: attr2hbase submit --print
    """
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded
    from ingest.durable import private_files
    from ingest.service.submit import Submission, submit_command, write_properties

    if file == "-":
        raise ConfigError("spark-submit cannot read the file from stdin", hint="name a file")
    configuration, catalog = loaded(out, file)
    arguments = ["--once"] if once else []
    arguments += ["--start-from", start_from] if start_from is not None else []
    arguments += ["--log-level", log_level.value] if log_level is not None else []
    arguments += [name for name, is_set in (("--take-over", take_over), ("--recount", recount)) if is_set]
    command = submit_command(configuration, catalog, Submission(file, arguments, archive), os.environ)
    if archive is not None and "://" not in archive:
        _pack(out, Path(archive), configuration, catalog)
    write_properties(configuration)
    if not printed:
        out.note(f"{command[0]} starts", "dim")
        out.flush()
        with private_files():
            os.execv(command[0], command)  # noqa: S606 - signals reach spark-submit itself
    for name in sorted(configuration.secret_settings):
        out.note(f'"{name}" contains a secret; its value is in the file of properties, not in the command', "dim")
    if out.is_json:
        out.json({"command": command})
        return
    out.raw(_shown(command) + "\n")
    out.next(command_line(file, "submit", *(["--archive", archive] if archive is not None else []), *arguments))


def _pack(out: Output, path: Path, configuration: "Configuration", catalog: "Catalog") -> None:
    from ingest.service.submit import entry_script
    from ingest.spark.environment import environment, pack
    from ingest.spark.jars import source_jars

    content = environment(source_jars(configuration, catalog), entry_script())
    was_written = pack(path, content)
    out.note(f"{path}: {counted(len(content.files), 'file')} packed" if was_written else f"{path} is up to date", "dim")


def _shown(command: list[str]) -> str:
    """A command to paste, one option with its value per line."""
    lines: list[str] = []
    is_open = False
    for word in command:
        quoted = shlex.quote(word)
        if is_open and not word.startswith("--"):
            lines[-1] += f" {quoted}"
        else:
            lines.append(quoted)
        is_open = word.startswith("--")
    return " \\\n  ".join(lines)
