"""Trials that pass or fail on purpose, for tests of the runner."""

import os
import signal
import time


def passes(rng, folder):
    (folder / "file").touch()


def raises(rng, folder):
    (folder / "file").touch()
    if rng.random() < 0.5:
        raise ValueError("odd number")


def crashes(rng, folder):
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(rng, folder):
    time.sleep(1000)


def fills_the_memory(rng, folder):
    bytearray(2**34)


def computes_for_ever(rng, folder):
    while True:
        pass
