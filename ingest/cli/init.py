"""`attr2hbase init`: a working pipeline to start from."""

from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.cli.output import Output


class Template(StrEnum):
    """What a new pipeline reads and writes."""

    FILES = "files"
    KAFKA = "kafka"
    HBASE = "hbase"


def init(
    out: Output,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write into; created if missing.")
    ] = Path(),
    *,
    template: Annotated[
        Template,
        typer.Option(help="files: files to RocksDB, no servers; kafka: Kafka to RocksDB; hbase: Kafka to HBase."),
    ] = Template.FILES,
) -> None:
    """
    Write a working pipeline with tests and sample events.

    Existing files are never overwritten.

    Example: attr2hbase init demo --template kafka
    """
    written = write_template(template, directory)
    out.plain({"template": template.value, "files": [str(path) for path in written]})
    for path in written:
        out.line(str(path))
    out.done(f"{counted(len(written), 'file')} written")
    change = [] if directory == Path() else [f"cd {directory}"]
    out.next(*change, "attr2hbase test")


def write_template(template: Template, directory: Path) -> list[Path]:
    """
    Copy a template; returns the files written.

    Raises:
        ConflictError: one of its files exists; nothing was written.
    """
    from ingest.api.errors import ConflictError

    contents = dict(_contents(files("ingest.cli") / "templates" / template.value, PurePosixPath()))
    targets = {directory / name: content for name, content in contents.items()}
    existing = [path for path in targets if path.exists() or path.is_symlink()]
    if existing:
        raise ConflictError(
            f'"{existing[0]}"' + (f" and {len(existing) - 1} more exist" if existing[1:] else " exists"),
            hint="nothing was written; choose another folder",
        )
    for path, content in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    return list(targets)


def _contents(folder: Traversable, parent: PurePosixPath) -> "list[tuple[PurePosixPath, bytes]]":
    found = []
    for entry in sorted(
        folder.iterdir(), key=lambda entry: (entry.is_dir(), entry.name != "pipeline.yaml", entry.name)
    ):
        if entry.is_dir():
            found += _contents(entry, parent / entry.name)
        else:
            found.append((parent / entry.name, entry.read_bytes()))
    return found
