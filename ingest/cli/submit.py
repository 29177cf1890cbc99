"""`ingest submit`: the same service under spark-submit."""

import os
import shlex
from typing import Annotated

import typer

from ingest.cli.command import FileArgument
from ingest.cli.output import Output
from ingest.cli.run import OnceOption, StartOption


def submit(
    out: Output,
    file: FileArgument,
    *,
    printed: Annotated[bool, typer.Option("--print", help="Print the command without running it.")] = False,
    once: OnceOption = False,
    start_from: StartOption = None,
) -> None:
    """
    Run the pipelines of a file with spark-submit, on the master the file names.

    Example: ingest submit pipeline.yaml --print
    """
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded
    from ingest.durable import private_files
    from ingest.service.submit import submit_command

    if file == "-":
        raise ConfigError("spark-submit cannot read the file from stdin", hint="name a file")
    configuration, catalog = loaded(out, file)
    arguments = ["--once"] if once else []
    arguments += ["--start-from", start_from] if start_from is not None else []
    command = submit_command(configuration, catalog, file, arguments, os.environ)
    if not printed:
        out.note(f"{command[0]} starts", "dim")
        out.flush()
        with private_files():
            os.execv(command[0], command)  # noqa: S606 - signals reach spark-submit itself
    for name in sorted(configuration.secret_settings):
        out.note(f'"{name}" contains a secret and is not in the command; the service reads it from the file', "dim")
    if out.is_json:
        out.json({"command": command})
        return
    out.raw(_shown(command) + "\n")
    out.next(f"ingest submit {file}")


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
