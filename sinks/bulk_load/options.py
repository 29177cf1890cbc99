"""The option `bulk_load` of tables."""

from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, GetJsonSchemaHandler, create_model, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ingest.api import Model, option
from ingest.api.bulk_load import Confirmed
from sinks.bulk_load.modes import LoadRule

AUTO_ROWS, AUTO_BYTES = 5_000, 4 << 20
"""`auto`: rows of a region in a chunk from which a file of them pays; each file is one more for the compactions."""


def _possible(value: str | int) -> str | int:
    if isinstance(value, int) and value < 1:
        text = "{value} is no number of rows; write 1 or more, `auto` or `never`"
        raise PydanticCustomError("out_of_range", text, {"value": value})
    return value


class BulkLoadBase(Model):
    """`BulkLoadOptions` without its fields, of which `from` is no name of Python."""

    @model_validator(mode="before")
    @classmethod
    def _written_short(cls, value: Any) -> Any:
        """`auto` is `{from: auto}`; a number alone could be of rows or bytes, so it needs its name."""
        if isinstance(value, bool):
            text = "bulk_load must be `auto`, `never` or a mapping, not the boolean {value}"
            hint = "write auto, or {from: NUMBER OF ROWS}" if value else "write never"
            raise PydanticCustomError("wrong_type", text, {"value": str(value).lower(), "hint": hint})
        if isinstance(value, int):
            text = "bulk_load must be `auto`, `never` or a mapping, not the number {value}"
            raise PydanticCustomError("wrong_type", text, {"value": value, "hint": f"write {{from: {value}}}"})
        if isinstance(value, dict) and "from" not in value and value.keys() <= cls.model_fields.keys():
            hint = "`from: auto` is the usual one"
            raise PydanticCustomError("missing_field", 'bulk_load needs "from"', {"hint": hint})
        return {"from": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"enum": ["never", "auto"]}, handler(schema)]}

    def rule(self) -> LoadRule | None:
        """When rows are loaded as files; None for never."""
        fields = dict(self)
        rows = fields["from"]
        confirmed = Confirmed(fields["replicated"], fields["coprocessors"])
        if rows == "never":
            return None
        if rows == "auto":
            return LoadRule(AUTO_ROWS, AUTO_BYTES, only_behind=True, confirmed=confirmed)
        return LoadRule(rows, None, only_behind=False, confirmed=confirmed)


_FIELDS: Any = {
    "from": (
        Annotated[Literal["never", "auto"] | int, AfterValidator(_possible)],
        option(
            "`auto`: while the pipeline is more than two micro-batches behind, from 5,000 rows or 4 MiB of a region in "
            "a task. A number: from so many rows of a region in a task, also while it is up to date. `never`: no "
            "files.",
            example="auto",
        ),
    ),
    "replicated": (
        bool,
        option(
            "Also load files into families that are replicated to other clusters. Set it if the cluster has "
            "`hbase.replication.bulkload.enabled`: without that, the other clusters lack these rows.",
            default=False,
        ),
    ),
    "coprocessors": (
        bool,
        option(
            "Also load files into tables with coprocessors, which do not see their rows. Set it if the coprocessors "
            "need not see every row: an index of Phoenix does.",
            default=False,
        ),
    ),
}
BulkLoadOptions = cast(
    "type[BulkLoadBase]",
    create_model(
        "BulkLoadOptions",
        __base__=BulkLoadBase,
        __module__=__name__,
        __doc__="When rows are loaded as files. `never` and `auto` may be written in place of the mapping.",
        **_FIELDS,
    ),
)
