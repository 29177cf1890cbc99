"""The confirmation of commands that delete."""

import sys

import typer


def confirm_deletion(question: str) -> None:
    """
    Ask for confirmation on the terminal; the command ends with exit code 1 without it.

    Raises:
        ConfigError: there is no terminal.
    """
    from ingest.api import ConfigError

    if not sys.stdin.isatty():
        raise ConfigError("no terminal to confirm on; nothing was deleted", hint="add --yes, or --dry-run")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)
