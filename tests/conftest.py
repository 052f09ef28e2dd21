import os

import pytest

import armlet


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Compiled code is kept in a directory that all workers share, never in the user's."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    cache = folder / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARMLET_CACHE", str(cache))
        yield


@pytest.fixture(scope="session")
def arms():
    """Every arm of the catalogue by name."""
    return {name: armlet.load(name) for name in armlet.catalogue()}


@pytest.fixture
def refusal(load):
    """The message with which what a module's own `load` takes is refused."""

    def refused(*args, **options):
        with pytest.raises(armlet.ModelError) as raised:
            load(*args, **options)
        return str(raised.value)

    return refused
