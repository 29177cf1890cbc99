"""Our errors for those of MIT Kerberos."""

import pytest

from ingest.api import StoreRefusedError, StoreUnavailableError
from sinks.hbase.rpc.errors import CredentialsError, LoginError
from sinks.hbase.rpc.kerberos_errors import TICKET_EXPIRED, credentials_error, login_error

_BASE = -1765328384


@pytest.mark.parametrize("number", [154, 156, 220])
@pytest.mark.parametrize("unsigned", [0, 1 << 32])
def test_kdc_that_does_not_answer_is_an_outage(number: int, unsigned: int) -> None:
    error = credentials_error("a@B", _BASE + number + unsigned, "Cannot contact any KDC for realm 'B'", has_keytab=True)
    assert isinstance(error, StoreUnavailableError)
    assert error.code == "kdc_unavailable"
    assert error.message == "there is no Kerberos ticket for a@B: Cannot contact any KDC for realm 'B'"
    assert login_error("hbase/h@B", _BASE + number, "x").code == "kdc_unavailable"


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (6, "does not know `principal`"),
        (24, "does not have the current keys"),
        (141, "klist -k"),
        (195, "klist -k"),
        (37, "synchronize the clocks"),
        (999, "KRB5_TRACE"),
    ],
)
def test_wrong_credentials_block_the_pipeline(number: int, hint: str) -> None:
    error = credentials_error("a@B", _BASE + number, "why", has_keytab=True)
    assert isinstance(error, CredentialsError)
    assert isinstance(error, StoreRefusedError)
    assert error.code == "kerberos_failed"
    assert hint in str(error.hint)


def test_without_a_keytab_the_user_obtains_tickets() -> None:
    for code in (0, TICKET_EXPIRED, _BASE + 195):
        assert "run kinit" in str(credentials_error("a@B", code, "no credentials", has_keytab=False).hint)


def test_unknown_server() -> None:
    error = login_error("hbase/h@B", _BASE + 7, "Server not found in Kerberos database")
    assert isinstance(error, LoginError)
    assert not isinstance(error, CredentialsError)
    assert "hbase.regionserver.kerberos.principal" in str(error.hint)
