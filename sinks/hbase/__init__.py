"""
HBase as a store.

    settings      options of the store
    store         the store
    records       what the product records of tables
    client        what the store needs of a client
    thrift        the client of HBase's Thrift servers
    rpc           the client that speaks HBase's native RPC
    paging        which rows a scan requests next from a server
    shell         commands for the hbase shell
    tcp           TCP connections to servers of HBase
    refusals      what HBase can never write
    errors        what an exception of HBase means, and our error for it
"""
