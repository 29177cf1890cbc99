"""
Kafka, and HBase with its Thrift servers, for development and for tests; Maven fetches their jars.

`kafka.KafkaServer` and `hbase.HBaseServer` keep data, configuration, logs, ports and pids in a folder, so another
process can stop them, or start them again on the same data and ports. Uses only the standard library.
"""
