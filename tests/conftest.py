import pytest

import armlet


@pytest.fixture(scope="session")
def arms():
    """Every arm of the catalogue by name."""
    return {name: armlet.load(name) for name in armlet.catalogue()}
