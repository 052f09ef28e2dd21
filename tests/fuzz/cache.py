"""A cache is damaged: its next use returns the same bits, without a crash or a hang."""

import os
import shutil
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

import armlet
from armlet.runtime.cache import directory

ARM, QUANTITY = "planar2r", "gravity_torque"
ROWS = np.random.default_rng(0).uniform(-2, 2, (40, 2))
EVER = 0.5
"""The share of trials in which another thread damages the cache while it is used."""


def use(folder: Path) -> bytes:
    """Evaluate one state and a batch with a new kernel, which looks for its code in the cache."""
    before = os.environ.get("ARMLET_CACHE", "")
    os.environ["ARMLET_CACHE"] = str(folder)
    try:
        kernel = armlet.compile(armlet.load(ARM), QUANTITY)
        return kernel(ROWS[0]).tobytes() + kernel(ROWS).tobytes()
    finally:
        os.environ["ARMLET_CACHE"] = before


@cache
def whole() -> tuple[bytes, dict[str, bytes]]:
    """The results of an undamaged cache, and the entries of the cache."""
    folder = directory() / "whole"
    found = use(folder)
    return found, {path.name: path.read_bytes() for path in folder.iterdir()}


def trial(rng, folder):
    expected, entries = whole()
    folder = folder / "cache"
    assert folder.is_absolute(), "nothing would be cached"
    folder.mkdir(mode=0o700)
    for name, data in entries.items():
        (folder / name).write_bytes(data)
    for _ in range(rng.integers(1, 4)):
        damage(rng, folder)
    stop = threading.Event()
    other = threading.Thread(target=keep_damaging, args=(rng, folder, stop))
    if rng.random() < EVER:
        other.start()
    try:
        assert use(folder) == expected, "other bits"
    finally:
        stop.set()
        if other.ident:
            other.join()
    assert use(folder) == expected, "other bits in the next use"


def keep_damaging(rng, folder, stop):
    while not stop.wait(10 ** rng.uniform(-5, -2)):
        damage(rng, folder)


def damage(rng, folder):
    """Damage one of the entries of the cache, if there is one."""
    paths = sorted(folder.glob("*.object"))
    if paths:
        change = CHANGES[rng.integers(len(CHANGES))]
        with suppress(OSError):  # the entry is a link to itself, or was replaced meanwhile
            change(rng, paths[rng.integers(len(paths))])


def contents(path):
    return path.read_bytes() if path.is_file() else b""


def truncated(rng, path):
    data = contents(path)
    write(path, data[: rng.integers(len(data) + 1)])


def flipped(rng, path):
    data = bytearray(contents(path))
    for _ in range(rng.integers(1, 9) if data else 0):
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    write(path, bytes(data))


def lengthened(rng, path):
    write(path, contents(path) + rng.bytes(rng.integers(1, 5000)))


def overwritten(rng, path):
    write(path, rng.bytes(rng.integers(0, 5000)))


def swapped(rng, path):
    """Replace an entry by the contents of another entry."""
    others = sorted(path.parent.glob("*.object"))
    write(path, contents(others[rng.integers(len(others))]))


def write(path, data):
    remove(path)
    path.write_bytes(data)


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def removed(rng, path):
    remove(path)


def with_mode(rng, path):
    path.chmod(int(rng.choice([0o000, 0o200, 0o444, 0o666, 0o777])))


def linked(rng, path):
    """Replace an entry by a link: broken, to itself, a folder, a device or another entry."""
    others = sorted(path.parent.glob("*.object"))
    targets = ["/nonexistent", path.name, "/", "/dev/zero", "/dev/null", str(others[0])]
    remove(path)
    path.symlink_to(targets[rng.integers(len(targets))])


def as_pipe(rng, path):
    """Replace an entry by a pipe without a writer, from which a read never returns."""
    remove(path)
    os.mkfifo(path)


def as_folder(rng, path):
    remove(path)
    path.mkdir()
    if rng.integers(2):
        (path / "file").write_bytes(b"x")


def folder_with_mode(rng, path):
    path.parent.chmod(int(rng.choice([0o500, 0o700, 0o722, 0o777])))


CHANGES = (
    truncated,
    flipped,
    lengthened,
    overwritten,
    swapped,
    removed,
    with_mode,
    linked,
    as_pipe,
    as_folder,
    folder_with_mode,
)
