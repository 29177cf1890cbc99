"""The Thrift interface that happybase ships, under names a type checker can follow."""

import happybase  # importing it loads the interface as the module Hbase_thrift

# isort: split
from Hbase_thrift import (  # type: ignore[import-not-found]  # made at run time out of happybase's Hbase.thrift
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
