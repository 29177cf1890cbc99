"""`attr2hbase offsets` without a cluster."""


def test_source_without_offsets_is_refused(ingest, folder):
    assert ingest("init", "--template", "files").code == 0
    done = ingest("offsets", "show")
    assert (done.code, done.out) == (2, "")
    assert "files, which has no offsets" in done.err
