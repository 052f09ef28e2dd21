"""The cache of compiled code on disk: it saves time, and whatever happens to it does no harm."""

import os
import resource
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import llvmlite
import numpy as np
import pytest
from platformdirs import user_cache_path

import armlet
from armlet.runtime import Kernel, cache, engine
from armlet.runtime.python_call import Entry

ROWS = np.random.default_rng(0).uniform(-3, 3, (3, 40, 7))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    path = tmp_path / "cache"
    monkeypatch.setenv("ARMLET_CACHE", str(path))
    return path


@pytest.fixture(scope="module")
def program(arms):
    return armlet.trace(arms["panda"], "bias")


@pytest.fixture(scope="module")
def expected(program):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARMLET_CACHE", "off")
        return results(program)


def results(program):
    """One state and many, by a fresh kernel, to the bit."""
    kernel = Kernel(program)
    return kernel(*ROWS[:2, 0]).tobytes(), kernel(*ROWS[:2]).tobytes()


@pytest.fixture
def compilations(monkeypatch):
    """What has been compiled, and not found, since the test began."""
    texts = []
    parsed = engine._parse
    monkeypatch.setattr(engine, "_parse", lambda text, _: (texts.append(text), parsed(text, _))[1])
    return texts


def entries(folder):
    return sorted(folder.iterdir()) if folder.is_dir() else []


# ------------------------------------------------------------------ what it is for


def test_what_was_compiled_once_is_found_again(program, expected, folder, compilations):
    for _ in range(3):
        assert results(program) == expected
        assert len(compilations) == 2
    assert [path.suffix for path in entries(folder)] == [".object"] * 2


def test_switched_off_it_leaves_no_trace(program, expected, tmp_path, monkeypatch, compilations):
    monkeypatch.setenv("ARMLET_CACHE", "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert results(program) == expected
    assert len(compilations) == 4
    assert not entries(tmp_path)


def test_a_kernel_is_loaded_in_less_than_thirty_milliseconds(program, folder, compilations):
    results(program)
    spent = []
    for _ in range(5):
        kernel = Kernel(program)
        start = time.process_time()
        kernel(*ROWS[:2, 0])
        spent.append(time.process_time() - start)
    assert min(spent) < 0.03
    assert len(compilations) == 2


def test_another_process_finds_it(program, expected, folder, compilations):
    results(program)
    before = {path: path.read_bytes() for path in entries(folder)}
    assert len(before) == 2
    assert started().communicate("\n")[0] == digest(expected)
    after = {path: path.read_bytes() for path in entries(folder)}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 2  # what all kernels share, and the program searched for


SCRIPT = f"""
import hashlib, sys, numpy as np, armlet
sys.stdin.readline()
kernel = armlet.compile(armlet.load("panda"), "bias")
rows = np.random.default_rng(0).uniform(-3, 3, {ROWS.shape})[:2]
print(hashlib.sha256(kernel(*rows[:, 0]).tobytes() + kernel(*rows).tobytes()).hexdigest())
"""


def started(before=None, **environment):
    """A process that compiles, or finds, the same program."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=before,
    )


def digest(expected):
    return sha256(b"".join(expected)).hexdigest() + "\n"


def test_processes_may_share_it_at_once(program, expected, folder, compilations):
    runs = [started() for _ in range(4)]
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    assert [run.communicate()[0] for run in runs] == [digest(expected)] * 4
    assert [path.suffix for path in entries(folder)] == [".object"] * 4  # as above
    assert results(program) == expected
    assert not compilations


# ------------------------------------------------------------------ what determines an entry


def test_every_part_determines_the_name():
    parts = ["text", "cpu", "features"]
    names = {cache.key(*parts), cache.key("textcpu", "", "features"), cache.key("text", "cpu")}
    names |= {cache.key(*parts[:k], "other", *parts[k + 1 :]) for k in range(3)}
    assert len(names) == 6


HERE = engine.cpu()
ELSEWHERE = {
    "another CPU": (engine, "cpu", lambda: HERE._replace(name="x86-64")),
    "other features": (engine, "cpu", lambda: HERE._replace(features="")),
    "another llvmlite": (llvmlite, "__version__", "0.0"),
    "another armlet": (armlet.version, "__version__", "0.0"),
    "another format": (cache, "FORMAT", "0"),
}


@pytest.mark.parametrize(("place", "name", "value"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_was_compiled_elsewhere_is_not_used(
    program, folder, compilations, monkeypatch, place, name, value
):
    results(program)
    with monkeypatch.context() as patch:
        patch.setattr(place, name, value)
        Kernel(program).compiled().connect(Entry(print))
    assert len(compilations) == 3
    assert len(entries(folder)) == 3


# ------------------------------------------------------------------ damage


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE = {
    "emptied": lambda data, other: b"",
    "cut in the checksum": lambda data, other: data[:20],
    "cut after the checksum": lambda data, other: data[:32],
    "cut in half": lambda data, other: data[: len(data) // 2],
    "one byte short": lambda data, other: data[:-1],
    "one byte long": lambda data, other: data + b"\0",
    "a bit of the checksum": lambda data, other: flipped(data, 3),
    "the first bit of the object": lambda data, other: flipped(data, 32),
    "a bit in the middle": lambda data, other: flipped(data, len(data) // 2),
    "the last bit": lambda data, other: flipped(data, len(data) - 1),
    "another's entry": lambda data, other: other,
    "no checksum": lambda data, other: data[32:],
    "text": lambda data, other: b"hello, world\n" * 100,
    "zeros": lambda data, other: bytes(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_built_again(program, expected, folder, compilations, damage):
    results(program)
    one, two = (path.read_bytes() for path in entries(folder))
    for path, data, other in zip(entries(folder), (one, two), (two, one), strict=True):
        path.write_bytes(damage(data, other))
    assert results(program) == expected
    assert len(compilations) == 4
    assert [path.read_bytes() for path in entries(folder)] == [one, two]


def test_a_directory_in_the_place_of_an_entry_does_no_harm(program, expected, folder, compilations):
    results(program)
    for path in entries(folder):
        path.unlink()
        path.mkdir()
    assert results(program) == expected
    assert len(compilations) == 4
    assert all(path.is_dir() for path in entries(folder))


def empty_object():
    """The machine code of nothing: what an interrupt made of a module when it was swallowed."""
    return engine.machine().emit_object(engine.llvm.parse_assembly(""))


@pytest.mark.parametrize("data", [empty_object, lambda: b"no object file", lambda: b""])
def test_an_object_without_the_functions_is_built_again(
    program, expected, folder, compilations, data
):
    results(program)
    before = [path.read_bytes() for path in entries(folder)]
    for path in entries(folder):
        cache.save(path.stem, engine.in_llvm(data))
    assert results(program) == expected
    assert len(compilations) == 4
    assert [path.read_bytes() for path in entries(folder)] == before


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write_is_built_again(
    program, expected, folder, compilations, mode
):
    results(program)
    for path in entries(folder):
        path.chmod(mode)
    assert results(program) == expected
    assert len(compilations) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in entries(folder)} == {0o600}


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_an_entry_of_someone_else_is_built_again(program, expected, folder, compilations):
    results(program)
    for path in entries(folder):
        os.chown(path, 12345, 12345)
    assert results(program) == expected
    assert len(compilations) == 4
    assert {path.stat().st_uid for path in entries(folder)} == {os.getuid()}


def test_an_entry_that_is_a_link_is_built_again(program, expected, folder, tmp_path, compilations):
    results(program)
    for path in entries(folder):
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
    assert results(program) == expected
    assert len(compilations) == 4
    assert not any(path.is_symlink() for path in entries(folder))


def test_a_pipe_in_the_place_of_an_entry_does_not_hang(folder, small):
    cache.directory()
    pipe = folder / f"name{cache.OBJECT}"
    os.mkfifo(pipe, 0o600)
    os.mkfifo(folder / f"other{cache.OBJECT}", 0o600)
    reader = threading.Thread(target=cache.load, args=["name"], daemon=True)
    reader.start()
    reader.join(10)
    assert not reader.is_alive()
    assert cache.load("name") is None
    cache.save("name", b"object")
    assert cache.load("name") == b"object"
    cache.save("large", bytes(1000))  # with a look at all entries for what to remove
    assert cache.load("large") is None


class Stop(BaseException):
    """As KeyboardInterrupt is no Exception."""


@pytest.mark.parametrize("moment", [(os, "replace"), (cache, "_checksum"), (os, "unlink")])
def test_a_save_that_is_broken_off_leaves_the_old_entry_or_the_new_one(folder, monkeypatch, moment):
    def stop(*_, **__):
        raise Stop

    cache.save("name", b"old")
    with monkeypatch.context() as patch:
        patch.setattr(*moment, stop)
        with suppress(Stop):
            cache.save("name", b"new")
    assert cache.load("name") in (b"old", b"new")


# ------------------------------------------------------------------ where it is, and whose


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_it_is_made_for_the_user_alone(folder, umask):
    before = os.umask(umask)
    try:
        assert cache.directory() == folder
        cache.save("name", b"object")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 & ~umask
    assert [stat.S_IMODE(path.stat().st_mode) for path in entries(folder)] == [0o600]


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o707, 0o702, 0o777, 0o1777])
def test_a_directory_that_others_may_write_is_ignored(
    program, expected, folder, mode, compilations
):
    results(program)
    folder.chmod(mode)
    before = [(path, path.stat()) for path in entries(folder)]
    assert cache.directory() is None
    assert results(program) == expected
    assert len(compilations) == 4
    assert [(path, path.stat()) for path in entries(folder)] == before


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_a_directory_that_others_may_only_read_is_used(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    assert cache.directory() == folder


def test_a_directory_of_someone_else_is_ignored(
    program, expected, folder, monkeypatch, compilations
):
    results(program)
    before = [(path, path.stat()) for path in entries(folder)]
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert cache.directory() is None
    assert results(program) == expected
    assert len(compilations) == 4
    assert [(path, path.stat()) for path in entries(folder)] == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives directories away")
def test_a_directory_given_away_is_ignored(folder):
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    assert cache.directory() is None


def test_by_default_it_is_in_the_users_cache_directory(tmp_path, monkeypatch):
    home, given = tmp_path / "home", tmp_path / "xdg"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for asked in (None, ""):
        monkeypatch.delenv("ARMLET_CACHE", raising=False)
        if asked is not None:
            monkeypatch.setenv("ARMLET_CACHE", asked)
        monkeypatch.setenv("XDG_CACHE_HOME", str(given))
        assert cache.directory() == given / "armlet"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative/path")
        assert cache.directory() in (home / ".cache" / "armlet", None)  # as platformdirs has it
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        assert cache.directory() == home / ".cache" / "armlet"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache.directory() == home / ".cache" / "armlet"


@pytest.mark.parametrize("asked", ["cache", "./cache", "../cache", "a/~/b"])
def test_a_relative_path_is_refused_and_reported(
    program, expected, tmp_path, monkeypatch, compilations, asked
):
    """Whoever wrote the working directory would otherwise choose the code that is run."""
    here = tmp_path / "checkout"
    (here / asked).mkdir(parents=True, mode=0o700)
    with monkeypatch.context() as patch:
        patch.setenv("ARMLET_CACHE", str((here / asked).resolve()))
        results(program)
    monkeypatch.chdir(here)
    monkeypatch.setenv("ARMLET_CACHE", asked)
    cache._warn_of_relative.cache_clear()
    with pytest.warns(UserWarning, match="a relative path: nothing is cached; give an absolute"):
        assert results(program) == expected
    assert len(compilations) == 4
    assert cache.directory() is None  # and is silent


def test_a_tilde_is_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ARMLET_CACHE", "~/own")
    assert cache.directory() == tmp_path / "own"


def homeless(*_, **__):
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("unknown", [homeless, lambda *_, **__: Path("~/.cache/armlet")])
def test_without_a_home_there_is_none(program, expected, monkeypatch, unknown):
    monkeypatch.delenv("ARMLET_CACHE", raising=False)
    monkeypatch.setattr(cache, "user_cache_path", unknown)
    assert cache.directory() is None
    assert results(program) == expected


def test_the_tests_have_a_cache_of_their_own():
    assert user_cache_path() not in cache.directory().parents


# ------------------------------------------------------------------ no access, no room


@pytest.mark.parametrize(
    "place",
    ["/proc/armlet", "/dev/null", "/dev/null/armlet", "/tmp/" + "x" * 300, "~no_such_user/armlet"],
)
def test_where_no_directory_can_be_made_there_is_none(program, expected, monkeypatch, place):
    monkeypatch.setenv("ARMLET_CACHE", place)
    assert cache.directory() is None
    assert results(program) == expected


def refuse(*_, **__):
    raise PermissionError("no")


FAILURES = {
    "no file can be made": (cache.tempfile, "mkstemp"),
    "no file can be renamed": (os, "replace"),
    "no file can be touched": (os, "utime"),
    "no file can be opened": (os, "open"),
    "no file can be read": (cache, "_read"),
    "nothing can be listed": (Path, "iterdir"),
}


@pytest.mark.parametrize(("place", "name"), FAILURES.values(), ids=FAILURES)
def test_no_access_does_no_harm(program, expected, folder, monkeypatch, place, name):
    with monkeypatch.context() as patch:
        patch.setattr(place, name, refuse)
        for _ in range(2):
            assert results(program) == expected
    assert all(path.suffix == ".object" for path in entries(folder))


def test_a_full_disk_does_no_harm(expected, folder):
    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    run = started(before=full)
    assert run.communicate("\n")[0] == digest(expected)
    assert not entries(folder)


# ------------------------------------------------------------------ its size


@pytest.fixture
def small(folder, monkeypatch):
    """A cache with room for three entries of a hundred bytes."""
    monkeypatch.setattr(cache, "LIMIT", 3 * (100 + cache.CHECKSUM))
    monkeypatch.setattr(cache, "SAVES_PER_TRIM", 1)
    return folder


def aged(folder, name, seconds):
    path = folder / (name + cache.OBJECT)
    at = time.time() - seconds
    os.utime(path, (at, at))


def names(folder):
    return [path.stem for path in entries(folder)]


def test_a_save_seldom_looks_at_all_other_entries(folder, monkeypatch):
    looks = []
    monkeypatch.setattr(cache, "_trim", looks.append)
    for k in range(1000):
        cache.save(str(k), b"")
    assert 1 <= len(looks) < 100


def test_what_was_used_longest_ago_goes(small):
    for k, name in enumerate("abc"):
        cache.save(name, bytes(100))
        aged(small, name, 100 - k)
    assert names(small) == ["a", "b", "c"]
    assert cache.load("a") == bytes(100)
    assert (small / f"a{cache.OBJECT}").stat().st_mtime > time.time() - 50
    cache.save("d", bytes(100))
    assert names(small) == ["a", "c", "d"]
    cache.save("e", bytes(232))
    assert names(small) == ["d", "e"]


def test_what_other_processes_left_unfinished_goes_in_its_turn(small):
    cache.directory()
    left = small / f"left{cache.UNFINISHED}"
    left.write_bytes(bytes(100))
    os.utime(left, (0, 0))
    for name in "abc":
        cache.save(name, bytes(100))
    assert names(small) == ["a", "b", "c"]


def test_files_of_others_are_left_alone(small):
    cache.directory()
    (small / "notes.txt").write_bytes(bytes(10_000))
    os.utime(small / "notes.txt", (0, 0))
    for name in "abcd":
        cache.save(name, bytes(100))
    assert (small / "notes.txt").exists()
    assert len(entries(small)) == 4


def test_an_entry_larger_than_all_the_room_is_not_kept(small):
    cache.save("large", bytes(1000))
    assert cache.load("large") is None
    assert not entries(small)
