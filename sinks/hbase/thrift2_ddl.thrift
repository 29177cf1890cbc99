// The few calls of HBase's Thrift2 interface that change tables; the older interface lacks them.
// Numbers and types are those of the server; fields it has defaults for are left out.

struct TTableName { 1: optional binary ns, 2: required binary qualifier }

enum TBloomFilterType { NONE = 0, ROW = 1, ROWCOL = 2 }

enum TCompressionAlgorithm { LZO = 0, GZ = 1, NONE = 2, SNAPPY = 3, LZ4 = 4, BZIP2 = 5, ZSTD = 6 }

struct TColumnFamilyDescriptor {
  1: required binary name,
  5: optional TBloomFilterType bloomFilterType,
  6: optional TCompressionAlgorithm compressionType,
  10: optional i32 maxVersions,
  13: optional i32 timeToLive,
  14: optional bool blockCacheEnabled
}

struct TTableDescriptor { 1: required TTableName tableName, 2: optional list<TColumnFamilyDescriptor> columns }

exception TIOError { 1: optional string message, 2: optional bool canRetry }

service TableService {
  void createTable(1: required TTableDescriptor desc, 2: list<binary> splitKeys) throws (1: TIOError io),
  void addColumnFamily(1: required TTableName tableName, 2: required TColumnFamilyDescriptor column) throws (1: TIOError io)
}
