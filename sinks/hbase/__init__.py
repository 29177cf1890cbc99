"""
HBase through its Thrift servers; the only door to happybase and thriftpy2.

    settings    what can be set thrift1     the types of the Thrift interface that happybase brings connection  how the
    Thrift server is reached sockets     the socket under it message     the message of a call, joined from prepared
    bytes encoding    mutations as calls: checked, cut to size reading     rows out of its answers schema      how
    tables and families are created, also through Thrift2 store       the store itself errors      the one table from
    errors of the Thrift server to ours
"""
