"""What a table says of the files that may be loaded into it."""

from sinks.hbase.hfile.codecs import Codec
from sinks.hbase.hfile.writer import HFileFormat
from sinks.hbase.protobuf import Message, data
from sinks.hbase.rpc.loadable_table import LoadableTable, loadable_table


def _family(name: bytes, **attributes: bytes) -> bytes:
    pairs = (data(2, data(1, key.encode()) + data(2, value)) for key, value in attributes.items())
    return data(3, data(1, name) + b"".join(pairs))


def test_file_of_a_family_has_its_block_size_bloom_filter_and_compression() -> None:
    table = Message(
        _family(b"a")
        + _family(b"b", COMPRESSION=b"SNAPPY", BLOCKSIZE=b"8192", BLOOMFILTER=b"ROWCOL")
        + _family(b"c", COMPRESSION=b"LZ4", BLOOMFILTER=b"NONE")
        + _family(b"d", COMPRESSION=b"GZ")
        + _family(b"e", COMPRESSION=b"ZSTD", BLOCKSIZE=b"x")
    )
    assert loadable_table(table).families == {
        b"a": HFileFormat(),
        b"b": HFileFormat(Codec.SNAPPY, 8192, has_bloom=False),
        b"c": HFileFormat(Codec.LZ4, has_bloom=False),
        b"d": HFileFormat(Codec.GZ),
        b"e": HFileFormat(Codec.GZ),  # the cluster may have a codec of Hadoop or of HBase, with different frames
    }


def test_family_that_is_encrypted_has_no_file_and_one_that_is_replicated_is_known() -> None:
    table = Message(
        _family(b"a", ENCRYPTION=b"AES")
        + _family(b"b", REPLICATION_SCOPE=b"1")
        + _family(b"c", REPLICATION_SCOPE=b"0", NEW_VERSION_BEHAVIOR=b"false")
        + _family(b"d", NEW_VERSION_BEHAVIOR=b"true")
    )
    assert loadable_table(table) == LoadableTable({b"b": HFileFormat(), b"c": HFileFormat()}, (b"b",))


def _of_table(**attributes: bytes) -> bytes:
    return b"".join(data(2, data(1, key.encode()) + data(2, value)) for key, value in attributes.items())


def test_table_that_is_read_only_has_no_files() -> None:
    assert loadable_table(Message(_of_table(READONLY=b"true") + _family(b"a"))) == LoadableTable({})
    assert loadable_table(Message(_of_table(READONLY=b"false") + _family(b"a"))) == LoadableTable({b"a": HFileFormat()})


def test_coprocessors_of_a_table_are_known() -> None:
    attributes = {"coprocessor$2": b"hdfs://nn/a.jar|org.x.Index |1001|a=b", "coprocessor$1": b"org.x.Plain", "x": b"y"}
    # HBase finds names in capitals and with spaces too
    attributes |= {"Coprocessor$3": b"org.x.Upper", " coprocessor$4": b"org.x.Spaced"}
    table = Message(_of_table(**attributes) + _family(b"a"))
    names = ("org.x.Spaced", "org.x.Upper", "org.x.Plain", "org.x.Index")
    assert loadable_table(table) == LoadableTable({b"a": HFileFormat()}, (), names)
