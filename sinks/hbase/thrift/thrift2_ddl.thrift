// The calls of HBase's Thrift2 interface that change tables; the older interface lacks them.
// Numbers and types are those of the server. The descriptor of a family is complete: a change sends all of it back, and
// a field that is not sent would get the server's default.

struct TTableName { 1: optional binary ns, 2: required binary qualifier }

enum TBloomFilterType { NONE = 0, ROW = 1, ROWCOL = 2 }

enum TCompressionAlgorithm { LZO = 0, GZ = 1, NONE = 2, SNAPPY = 3, LZ4 = 4, BZIP2 = 5, ZSTD = 6 }

struct TColumnFamilyDescriptor {
  1: required binary name,
  2: optional map<binary, binary> attributes,
  3: optional map<string, string> configuration,
  4: optional i32 blockSize,
  5: optional TBloomFilterType bloomFilterType,
  6: optional TCompressionAlgorithm compressionType,
  7: optional i16 dfsReplication,
  8: optional i32 dataBlockEncoding,
  9: optional i32 keepDeletedCells,
  10: optional i32 maxVersions,
  11: optional i32 minVersions,
  12: optional i32 scope,
  13: optional i32 timeToLive,
  14: optional bool blockCacheEnabled,
  15: optional bool cacheBloomsOnWrite,
  16: optional bool cacheDataOnWrite,
  17: optional bool cacheIndexesOnWrite,
  18: optional bool compressTags,
  19: optional bool evictBlocksOnClose,
  20: optional bool inMemory
}

struct TTableDescriptor { 1: required TTableName tableName, 2: optional list<TColumnFamilyDescriptor> columns }

exception TIOError { 1: optional string message, 2: optional bool canRetry }

service TableService {
  TTableDescriptor getTableDescriptor(1: required TTableName table) throws (1: TIOError io),
  void createTable(1: required TTableDescriptor desc, 2: list<binary> splitKeys) throws (1: TIOError io),
  void addColumnFamily(1: required TTableName tableName, 2: required TColumnFamilyDescriptor column) throws (1: TIOError io),
  void modifyColumnFamily(1: required TTableName tableName, 2: required TColumnFamilyDescriptor column) throws (1: TIOError io)
}
