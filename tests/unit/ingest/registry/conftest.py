from collections.abc import Iterator

import pytest

from tests.support.registry import Registry, serving_registry


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry that is served."""
    with serving_registry(Registry()) as served:
        yield served
