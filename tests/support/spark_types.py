"""Schemas of DataFrames without a session, which `StructType.fromDDL` needs."""

from pyspark.sql import types

_TYPES = {
    each.simpleString(): each
    for each in (
        types.StringType(),
        types.BinaryType(),
        types.IntegerType(),
        types.LongType(),
        types.DoubleType(),
        types.DateType(),
        types.TimestampType(),
        *(types.MapType(types.StringType(), value()) for value in (types.StringType, types.BinaryType)),
        types.MapType(types.StringType(), types.IntegerType()),
    )
}


def schema(ddl: str) -> types.StructType:
    """The schema of `NAME TYPE, NAME TYPE`."""
    found = types.StructType()
    for column in ddl.split(", "):
        name, _, type_name = column.partition(" ")
        found.add(name, _TYPES[type_name])
    return found
