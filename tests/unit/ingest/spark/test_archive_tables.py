"""The statements of an archived table."""

from ingest.spark.archive_tables import SqlTable


def test_names_of_columns_are_quoted():
    table = SqlTable("t", {"a`b": "bigint"}, "dt", "parquet", "file:///root/t")
    assert "(`a``b` bigint, `dt` string)" in table.create()
    assert table.add(["a`b"]) == "ALTER TABLE `t` ADD COLUMNS (`a``b` bigint)"
