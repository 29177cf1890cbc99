"""The options of one dump: of the command, a request over HTTP, and the daily dump."""

from typing import Self

from pydantic import ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from ingest.api import option
from ingest.config.options import DumpOptions, SharedDumpOptions
from ingest.service.jobs.option_types import Id


class DumpRunOptions(SharedDumpOptions):
    """One dump. Options that are left out and that the section `dump` of the file has are as there."""

    id: Id = option("Id of the dump, unique in its root; by default a new one.", default="")
    resume: Id = option("Resume the interrupted dump of this id: its complete files are kept.", default="")
    # more than task slots, since the rows may be spread unevenly over the row keys
    min_ranges: int = option("Divide each table into at least so many ranges.", default=16, ge=1, le=10_000)
    ignore_space: bool = option("Start although the root may have too little free space.", default=False)

    @model_validator(mode="after")
    def _is_resumed_as_it_began(self) -> Self:
        recorded = ("id", "tables", "format", "columns", "blobs", "min_ranges")
        given = [name for name in recorded if name in self.model_fields_set]
        if self.resume and given:
            raise ValidationError.from_exception_data(
                "dump",
                [
                    InitErrorDetails(
                        type=PydanticCustomError(
                            "conflict",
                            "a dump that is resumed keeps its id, its tables and the format of its start; leave this "
                            "option out",
                        ),
                        loc=(given[0],),
                        input=None,
                    )
                ],
            )
        return self

    def completed(self, section: DumpOptions | None) -> Self:
        """These options, with those of the section `dump` of a file in place of those that are left out."""
        if section is None:
            return self
        names = SharedDumpOptions.model_fields.keys() - self.model_fields_set
        found = self.model_copy(update={name: getattr(section, name) for name in names})
        return found if found.format == "parquet" else found.model_copy(update={"columns": {}})
