"""The Thrift interface that happybase ships, under names that a type checker can resolve."""

import happybase  # importing it loads the interface as the module Hbase_thrift

# isort: split
from Hbase_thrift import (  # type: ignore[import-not-found]  # created at run time from happybase's Hbase.thrift
    AlreadyExists,
    BatchMutation,
    ColumnDescriptor,
    Hbase,
    IllegalArgument,
    TScan,
)
from Hbase_thrift import IOError as HBaseIOError
from Hbase_thrift import Mutation as ThriftMutation

__all__ = [
    "AlreadyExists",
    "BatchMutation",
    "ColumnDescriptor",
    "HBaseIOError",
    "Hbase",
    "IllegalArgument",
    "TScan",
    "ThriftMutation",
    "happybase",
]
