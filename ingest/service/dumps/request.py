"""The request for a dump: of the command, over HTTP, and of the option `dump`."""

from typing import Literal, Self

from pydantic import ConfigDict

from ingest.api import ConfigError, Model, option
from ingest.config.options import DumpOptions
from ingest.formats.durations import seconds
from ingest.service.request import request_of

DEFAULT_MIN_RANGES = 16
"""Ranges of a table without regions; more than task slots, since the rows may be spread unevenly over the row keys."""

_FIXED = ("tables", "format", "bodies", "min_ranges")
"""Options that a dump has recorded at its start."""


class DumpRequest(Model):
    """
    Which tables are dumped, where and how. In JSON: `{"root": URL, "tables": [TABLE]}`.

    Attributes:
        root: path or URL of the dumps.
        tables: names; all that the file declares if empty.
        id: of the dump; a new one if empty.
        is_resumed: `--resume`: the killed dump of this id is resumed.
        format: of the files.
        columns: of Parquet files: table -> name -> column and type, as `dump: {columns: …}` has them.
        bodies: of tables with a body store, large values replace the pointers.
        min_ranges: minimum number of ranges of a table with more than a few rows.
        max_rate: maximum average of rows per second; None without a limit.
        keep_s: complete dumps older than this are removed afterwards; None to remove none.
        ignore_space: do not compare the free space of the root with the size of the tables.
    """

    model_config = ConfigDict(extra="forbid")

    root: str = option("Root of the dumps.", min_length=1)
    tables: tuple[str, ...] = option("Tables.", default=())
    id: str = option("Id of the dump.", default="")
    is_resumed: bool = option("Resume it.", default=False)
    format: Literal["gzip", "zstd", "parquet"] = option("As `format`.", default="gzip")
    columns: dict[str, dict[str, str]] = option("As `columns`.", default={})
    bodies: bool = option("As `bodies`.", default=False)
    min_ranges: int = option("Minimum number of ranges of a table.", default=DEFAULT_MIN_RANGES, ge=1, le=10_000)
    max_rate: int | None = option("As `max_rate`.", default=None, ge=1)
    keep_s: float | None = option("As `keep`, in seconds.", default=None, gt=0)
    ignore_space: bool = option("Do not check the free space.", default=False)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """
        A request from its JSON.

        Raises:
            ConfigError: it is none.
        """
        return request_of(cls, content, 'send JSON as {"root": "/dumps"}')

    @classmethod
    def of_options(cls, options: DumpOptions) -> Self:
        """The request for the daily dump of a configuration."""
        return cls(
            root=options.root,
            tables=tuple(options.tables),
            format=options.format,
            columns=options.columns,
            bodies=options.bodies,
            max_rate=options.max_rate,
            keep_s=options.keep,
        )

    @classmethod
    def of_command(
        cls,
        dump: DumpOptions | None,
        *,
        root: str | None,
        resume: str | None,
        id_: str | None,
        keep: str | None,
        **options: object,
    ) -> Self:
        """
        The request of `ingest dump run`; options that are None or empty are those of the configuration.

        Raises:
            ConfigError: there is no root, `--keep` is no duration, or an option contradicts `--resume`.
        """
        if not root and dump is None:
            raise ConfigError("the root of the dumps is missing", hint="add --root, or `dump: {root: …}` to the file")
        if resume is not None and id_ is not None:
            raise ConfigError("--id and --resume exclude each other", hint="a dump that is resumed keeps its id")
        given = {name: value for name, value in options.items() if value is not None and value != ()}
        fixed = [name for name in _FIXED if name in given]
        if resume is not None and fixed:
            raise ConfigError(
                f"--{fixed[0].replace('_', '-')} has no effect with --resume",
                hint="leave it out: a dump that is resumed keeps the tables and the format of its start",
            )
        defaults = cls(root=root or "") if dump is None else cls.of_options(dump)
        if given.get("format", "parquet") != "parquet":
            given["columns"] = {}
        if keep is not None:
            given["keep_s"] = seconds("--keep", keep)
        return cls.model_validate(
            defaults.model_dump()
            | given
            | {"root": root or defaults.root, "id": resume or id_ or "", "is_resumed": resume is not None}
        )
