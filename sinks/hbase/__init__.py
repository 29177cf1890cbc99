"""
HBase as a store.

    settings      options of the store
    store         the store
    thrift        through HBase's Thrift servers
"""
