"""
HBase as a store.

    settings      options of the store
    store         what the stores of both protocols share
    records       what the product records of tables
    thrift        the store through HBase's Thrift servers
    rpc           the store by HBase's native RPC
    paging        which rows a scan requests next from a server
    shell         commands for the hbase shell
    tcp           TCP connections to servers of HBase
    protobuf      messages of Protocol Buffers
    key_value     a cell as bytes
    assembling    joins the cells of a put
    hfile         files of HBase's own format
    refusals      what HBase can never write
    errors        what an exception of HBase means, and our error for it
"""
