"""
Run an access log through a chain of decorators on Spark into an embedded RocksDB store.

    python deploy/demo/demo.py [LOG]

Without LOG it reads the bundled log of about 5,000 lines, a few of them malformed. It compares the stored rows with the
log itself; the exit code is 1 if anything is missing.
"""

import argparse
import gzip
import os
import shlex
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from stage import INGEST, DemoError, Stage, as_text, cells_of, free_port, screen, short

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "deploy" / "examples" / "access-log"
FILE, TABLE = "pipeline.yaml", "access_log"
COLUMNS = ("client", "time", "method", "path", "status", "bytes")
SHOWN_ROWS, SHOWN_DEAD_LETTERS = 6, 15


def main(arguments: list[str]) -> int:
    """Run the demo; returns 0 if all lines are accounted for."""
    parser = argparse.ArgumentParser(description="An access log through Spark into RocksDB.")
    parser.add_argument(
        "log", nargs="?", type=Path, metavar="LOG", help="your log, plain or .gz; default: the bundled one"
    )
    options = parser.parse_args(arguments)
    console = screen()
    try:
        play(console, options.log)
    except DemoError as error:
        console.print(Text(f"demo failed: {error}", style="red"))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def play(console: Console, log: Path | None) -> None:
    """The whole demo."""
    folder, lines = prepared(log)
    name = log or (EXAMPLE / "logs").relative_to(ROOT)
    console.print(Text.assemble((f"{lines:,} lines", "bold"), f" of {name}\nwork folder {folder}"))
    port = free_port()
    with (folder / FILE).open("a") as file:
        file.write(f'service: {{http: {{listen: "127.0.0.1:{port}"}}}}\n')
    # a log of another format makes every line a dead letter; they are counted as well
    stage = Stage(console, folder, port, {**os.environ, "BROKEN": "100%"})
    console.print(stage.ingest("test").rstrip(), style="dim")
    (totals,) = stage.run_once(FILE, lines, "lines").values()
    keys = show_counts(stage, lines, totals)
    if totals["stored"]:
        show_rows(stage)
        read_back(stage, lines_of(folder / "logs"), keys)
    if totals["dead_lettered"]:
        show_dead_letters(stage, sum(totals["dead_lettered"].values()))
    if not totals["stored"]:
        console.print(f"\nno line matched the format of an access log; correct the pattern in {folder / FILE}")
    show_next(stage, totals)


def prepared(log: Path | None) -> tuple[Path, int]:
    """A new folder with the example and the log, and the number of lines of the log."""
    if log is not None and not log.is_file():
        raise DemoError(f'there is no file "{log}"; make demo LOG=path/to/access.log', 3)
    folder = Path(tempfile.mkdtemp(prefix="attr2hbase-demo-"))
    for name in (FILE, "events.jsonl"):
        shutil.copy(EXAMPLE / name, folder)
    if log is None:
        shutil.copytree(EXAMPLE / "logs", folder / "logs")
    else:
        # a copy, because a server may still write to the log
        (folder / "logs").mkdir()
        try:
            shutil.copyfile(log, folder / "logs" / log.name)
        except OSError as error:
            raise DemoError(f'"{log}" cannot be read: {error.strerror}', 3) from error
    try:
        return folder, sum(1 for _ in lines_of(folder / "logs"))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DemoError(f'"{log}" is not a complete gzip file: {error}', 3) from error


def lines_of(folder: Path) -> Iterator[tuple[str, int, bytes]]:
    """File name, byte offset and content of every line, read without code of the product."""
    for path in sorted(folder.iterdir()):
        offset = 0
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line in file:
                yield path.name, offset, line.rstrip(b"\r\n")
                offset += len(line)


def show_counts(stage: Stage, lines: int, totals: dict[str, Any]) -> set[str]:
    """Show how many lines were stored, dropped and dead-lettered, check the sum, and return the row keys."""
    table = Table("outcome", "reason", "lines", title_justify="left")
    table.columns[2].justify = "right"
    table.add_row("stored", "", f"{totals['stored']:,}", style="green")
    for what, style in (("dropped", "yellow"), ("dead_lettered", "red")):
        for reason, count in sorted(totals[what].items()):
            table.add_row(what.replace("_", "-"), reason, f"{count:,}", style=style)
    total = totals["stored"] + sum(totals["dropped"].values()) + sum(totals["dead_lettered"].values())
    table.add_section()
    table.add_row("total", "", f"{total:,}", style="bold")
    stage.console.print(table)
    stage.expect("lines read", lines, totals["read"])
    stage.expect("stored + dropped + dead-lettered", lines, total)
    keys = stored_keys(stage) if totals["stored"] else set()
    stage.expect("rows in the table", totals["stored"], len(keys))
    stage.console.print(
        f"complete: {lines:,} lines in the log = {total:,} accounted for; {len(keys):,} rows in the table",
        style="green",
    )
    return keys


def stored_keys(stage: Stage) -> set[str]:
    """All row keys of the table."""
    return {as_text(row["row"]) for row in stage.rows("scan", TABLE, "--columns", "web:client", quiet=True)}


def show_rows(stage: Stage) -> None:
    """Show some rows."""
    table = Table("row", *COLUMNS)
    table.columns[0].no_wrap = True
    for row in stage.rows("scan", TABLE, "--limit", str(SHOWN_ROWS)):
        cells = cells_of(row)
        table.add_row(as_text(row["row"]), *(Text(short(cells.get(f"web:{name}", ""))) for name in COLUMNS))
    stage.console.print(table)


def read_back(stage: Stage, lines: Iterator[tuple[str, int, bytes]], keys: set[str]) -> None:
    """Get the row of one line of the log and compare them."""
    stored = [(f"{name}:{offset:010}", line) for name, offset, line in lines if f"{name}:{offset:010}" in keys]
    key, line = stored[len(stored) * 2 // 3]
    stage.console.print(f"\na line of the log, read back by its file and offset: {key}")
    (row,) = stage.rows("get", TABLE, key)
    cells = cells_of(row)
    for name, value in cells.items():
        stage.console.print(Text.assemble((f"  {name:<12}", "cyan"), short(value, 100)))
    stage.expect(f"the line of row {key}", line.decode("utf-8", "backslashreplace"), cells["raw:line"])


def show_dead_letters(stage: Stage, count: int) -> None:
    """Show the lines that failed, with the error."""
    dead_letters = stage.rows("dead-letters", "list")
    stage.expect("dead letters listed", count, len(dead_letters))
    table = Table("file and offset", "error", "message", "line")
    for dead_letter in dead_letters[:SHOWN_DEAD_LETTERS]:
        record = dead_letter["record"]
        place = f"{Path(as_text(record['topic'])).name}:{record['offset']}"
        message, line = dead_letter["message"], as_text(record["value"])
        table.add_row(place, dead_letter["code"], Text(short(message)), Text(short(line)))
    stage.console.print(table)
    if count > SHOWN_DEAD_LETTERS:
        stage.console.print(f"and {count - SHOWN_DEAD_LETTERS:,} more", style="dim")


def show_next(stage: Stage, totals: dict[str, Any]) -> None:
    """Print commands to try next."""
    stage.console.print("\nTry next:", style="bold")
    commands = [f"cd {shlex.quote(str(stage.folder))}", f"{INGEST} explain --events events.jsonl"]
    if totals["stored"]:
        commands.append(f"{INGEST} scan {TABLE} --columns web:client,web:path --limit 20")
    if totals["dead_lettered"]:
        position = stage.rows("dead-letters", "list", "--limit", "1", quiet=True)[0]["position"]
        commands.append(f"{INGEST} dead-letters show {position}")
    commands += [f"{INGEST} describe regex", f"rm -r {shlex.quote(str(stage.folder))}     # to clean up"]
    for command in commands:
        stage.console.print(f"  {command}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
