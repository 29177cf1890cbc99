"""Where commands find a service, as told by what the services of a folder have left there."""

from pathlib import Path

import pytest

from ingest.service.endpoint.address import ServiceAddress

ENDED = "the last service of this state_dir has ended"
NOT_PUBLISHED = "none with this state_dir runs, and the last start has published no address"


@pytest.mark.parametrize(
    ("starts", "reason"),
    [((), ""), ((False,), NOT_PUBLISHED), ((True,), ENDED), ((True, False), NOT_PUBLISHED), ((False, True), ENDED)],
)
def test_only_a_service_that_published_its_address_has_ended(tmp_path: Path, starts: tuple[bool, ...], reason: str):
    address = ServiceAddress(tmp_path)
    for is_published in starts:
        address.take()
        assert address.unreachable() == "the service of this state_dir has no endpoint yet"
        if is_published:
            address.publish("http://127.0.0.1:1")
            assert address.unreachable() == ""
        address.release()
    assert address.unreachable() == reason
