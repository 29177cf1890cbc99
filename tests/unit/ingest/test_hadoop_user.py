"""The user whose name servers of Hadoop get."""

import getpass
import os

import pytest

from ingest.hadoop_user import hadoop_user


def test_user_of_hadoop_counts_more_than_the_user_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hadoop_user({}) == getpass.getuser()
    assert hadoop_user({"HADOOP_USER_NAME": "etl"}) == "etl"
    monkeypatch.setenv("HADOOP_USER_NAME", "maria")
    assert hadoop_user() == "maria"


def test_user_id_without_an_entry_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert hadoop_user({}) == "attr2hbase"
