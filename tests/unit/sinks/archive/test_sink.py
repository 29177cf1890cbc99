"""The options of the sink: names of columns that SQL would refuse."""

import pytest
from pydantic import ValidationError

from sinks.archive.sink import ArchiveSettings


def validated(columns: dict[str, str], **options: object) -> ArchiveSettings:
    return ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns} | options)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"dt": "%{a}"}, '"partition.dt" and "columns.dt" are one column in SQL'),
        ({"DT": "%{a}"}, '"partition.dt" and "columns.DT" are one column in SQL'),
        ({"user": "%{a}", "User": "%{b}"}, '"columns.user" and "columns.User" are one column in SQL'),
        ({"Version_ID": "%{a}"}, '"Version_ID" is reserved'),
        ({"_Time": "%{a}"}, '"_Time" is reserved'),
    ],
)
def test_name_that_another_column_has_in_sql_is_refused(columns: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        validated(columns)


def test_name_of_another_partition_column_is_free() -> None:
    assert list(validated({"dt": "%{a}"}, partition={"hour": "%Y%m%d%H"}).columns) == ["dt"]
