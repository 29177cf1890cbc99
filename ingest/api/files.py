"""Files that options name and that are read with the configuration."""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

MAX_FILE_BYTES = 4 * 1024 * 1024  # it travels to the workers with every micro-batch


@dataclass(frozen=True, slots=True)
class SmallFile:
    """
    A file, written as its path in YAML; a type for the fields of a component's settings.

    It is read where the configuration is checked, so a missing one is a problem with its place, and its content goes
    with the plan to the workers: all of them use the same, and none needs the file. A relative path begins where the
    command is run.
    """

    path: str
    content: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str) -> "SmallFile":
        """
        Read a file.

        Raises:
            PydanticCustomError: there is none, it can not be read, or it is too large.
        """
        try:
            with Path(path).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise PydanticCustomError(
                "unknown_reference", '"{path}" can not be read: {reason}', {"path": path, "reason": reason}
            ) from error
        if len(content) > MAX_FILE_BYTES:
            raise PydanticCustomError(
                "too_large", '"{path}" has more than {most} MiB', {"path": path, "most": MAX_FILE_BYTES >> 20}
            )
        return cls(path, content)

    def __str__(self) -> str:
        return self.path

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls.read, core_schema.str_schema(strict=True), serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}
