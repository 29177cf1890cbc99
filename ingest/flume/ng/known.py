"""
Settings of Flume 1 that the import does not need, and the check for unknown settings.

Source: HBaseSinkConfigurationConstants, KafkaSourceConstants, KafkaChannelConfiguration and the interceptors' Builders
of Flume 1.11.
"""

from collections.abc import Collection

from ingest.config import Kind
from ingest.flume.ng.properties import Options
from ingest.suggest import did_you_mean

OF_SINK = (
    "batchSize", "coalesceIncrements", "enableWal", "maxConsecutiveFails", "serializer", "timeout", "znodeParent",
    "zookeeperQuorum",
)  # fmt: skip
OF_SERIALIZERS = (
    "charset", "colNames", "depositHeaders", "incrementColumn", "incrementRow", "payloadColumn", "regex",
    "regexIgnoreCase", "rowKeyIndex", "rowPrefix", "suffix",
)  # fmt: skip
OF_KAFKA_SOURCE = (
    "backoffSleepIncrement", "batchDurationMillis", "batchSize", "groupId", "interceptors", "maxBackoffSleep",
    "migrateZookeeperOffsets", "selector.type", "topicHeader", "zookeeperConnect",
)  # fmt: skip
OF_KAFKA_CHANNEL = (
    "capacity", "defaultPartitionId", "groupId", "keep-alive", "kafka.pollTimeout", "migrateZookeeperOffsets",
    "partitionIdHeader", "pollTimeout", "readSmallestOffset", "transactionCapacity", "zookeeperConnect",
)  # fmt: skip
OF_INTERCEPTORS = {"remove_header": ("fromListSeparator",), "search_replace": ("charset",)}


def not_needed(options: Options, owner: str, known: Collection[str]) -> list[str]:
    """
    Settings of Flume that were not read; warns of settings that Flume does not have.

    Args:
        options: the options of a component, after its translation.
        owner: the component, for messages.
        known: settings of Flume that are never or not always read.
    """
    unused = options.unused()
    for name in unused:
        if name not in known:
            hint = did_you_mean(name, {*known, *options.requested()})
            message = f'"{name}" is not a setting of {owner} in Flume: it is ignored'
            options.warn(name, message, hint, Kind.UNKNOWN_FIELD)
    return [name for name in unused if name in known]
