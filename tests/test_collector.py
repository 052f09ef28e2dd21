"""The pause of the garbage collector."""

import gc
import os

import pytest

from armlet._support.gc_pause import PAUSES, without_collections


@pytest.fixture(autouse=True)
def enabled():
    assert gc.isenabled()
    yield
    gc.enable()
    assert not PAUSES


@without_collections
def is_on(other=gc.isenabled):
    return gc.isenabled(), other()


def test_nothing_is_collected_meanwhile():
    assert is_on(is_on) == (False, (False, False))
    assert gc.isenabled()


def test_the_collector_is_on_again_after_an_interrupt():
    @without_collections
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    is_on()
    assert not gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_forked_meanwhile_collects():
    @without_collections
    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        return child

    assert os.waitpid(fork(), 0)[1] == 0
