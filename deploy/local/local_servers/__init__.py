"""
Real servers for a laptop and for tests: Kafka, HBase with its Thrift servers, from jars that Maven resolves.

`kafka.KafkaServer` and `hbase.HBaseServer` are given a folder; data, configuration, logs, ports and pids stand there,
so another process can stop them or start them again on the same data and ports. Standard library alone.
"""
