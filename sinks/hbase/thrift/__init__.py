"""
HBase through its Thrift servers; the only package that imports happybase and thriftpy2.

    store         the store
    thrift1       the types of the Thrift interface that happybase ships
    connection    the connection to a Thrift server
    sockets       its socket
    encoding      mutations as calls: checked, and divided by size
    message       the message of a call, joined from cached bytes
    reading       gets and scans
    schema        creates tables, creates and alters families, also through Thrift2
    errors        maps errors of a Thrift server to ours
"""
