"""
Files of HBase's own format, HFile version 3, for a bulk load.

`cells` sorts the cells of mutations by family; `writer` makes the file of one family from `blocks`, which `codecs`
compress, an `index` of the blocks, and a `bloom` filter of the row keys. All of them are pure: cells in, bytes out.

The order of a file, whose numbers are big-endian::

    data blocks        KeyValues in order: rows are not divided between blocks
    leaf index blocks  if the root index would be large
    bloom chunks       if the family has a row bloom filter
    root index, meta index, file information, bloom information
    trailer            4096 bytes

Sources: `HFileWriterImpl`, `HFileBlock`, `HFileBlockIndex`, `FixedFileTrailer`, `CompoundBloomFilterWriter` and
`BloomFilterChunk` of HBase 2.6; FileTrailerProto and FileInfoProto of HFile.proto.
"""
