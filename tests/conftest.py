import pytest

import armlet


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Compiled code is kept in a directory of the tests, never in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARMLET_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def arms():
    """Every arm of the catalogue by name."""
    return {name: armlet.load(name) for name in armlet.catalogue()}
