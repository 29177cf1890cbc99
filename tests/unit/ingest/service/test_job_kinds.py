"""Jobs that requests name."""

import pytest

from ingest.api import ConfigError
from ingest.service.job_kinds import KINDS, job_of


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("compaction", '"table" is missing; send JSON as {"table": "counts"}'),
        ("dump", '"root" is missing; send JSON as {"root": "/dumps"}'),
        ("bootstrap", '"to" is missing; send JSON as {"to": "STORE:TABLE"}'),
    ],
)
def test_request_without_a_subject_is_shown_an_example(kind: str, message: str):
    with pytest.raises(ConfigError) as caught:
        job_of(kind, {})
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_job_names_its_subject(kind: str):
    assert KINDS[kind].kind == kind
    subject = KINDS[kind].command.subject
    with pytest.raises(ConfigError, match=f'^"{subject.value}" is missing'):
        job_of(kind, {subject.value: 1})
