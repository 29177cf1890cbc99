"""
HBase through its own protocol, without a Thrift server.

    wire          messages of Protocol Buffers
    connection    one connection to one server: frames, calls and answers
    errors        exceptions of the servers, and our errors for them
    cluster       connections to the servers; who has the meta table, and who is the active master
    regions       which server has which region of a table
    attempts      how long a call that the cluster cannot serve now is repeated
    cells         mutations as a block of cells, and a block of cells as rows
    multi         the call with many mutations
    writing       writes mutations: divides, sends and repeats them
    scanner       a scanner of one region
"""
