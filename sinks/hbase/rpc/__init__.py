"""
HBase by its native RPC, without a Thrift server.

    stream        bytes to and from one server, with deadlines
    tls           TLS of a stream
    protection    a stream whose bytes are wrapped
    sasl          login at a server with Kerberos
    kerberos      tickets of Kerberos, and logins with them
    kerberos_errors
                  our errors for those of Kerberos
    connection    one connection to one server: frames, calls and answers
    errors        exceptions of the servers, and our errors for them
    cluster       connections to the servers; who has the meta table, and who is the active master
    regions       which server has which region of a table
    attempts      how long a call that the cluster cannot serve now is repeated
    repeating     calls about regions, repeated while a region moves or a server is busy
    requests      messages that several calls have
    cells         mutations as a block of cells, and a block of cells as rows
    multi         the call with many mutations
    division      divides mutations into calls, by region, server and size
    writing       writes mutations: sends calls, and sends again what was not written
    scanner       a scanner of one region
    filters       the filter of a scan with patterns, and which servers apply it
    table_scan    a scan of a table, region by region
    reading       gets and scans
    region_sizes  sizes of regions
    schema        tables and families as messages
    loadable_table
                  what a table says of the files that may be loaded into it
    master        calls of the active master
    store         the store
"""
