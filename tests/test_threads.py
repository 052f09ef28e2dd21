"""Threads beside the caller's: how many there are, what a fork and an exit do to them."""

import ctypes
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import armlet
from armlet.robot import robot as model
from armlet.runtime import cpu, engine, threads
from armlet.runtime.threads import LlvmThread, Workers, map_unordered, parallel_for

CORES = os.cpu_count() or 1


def python(script, **options):
    """What a script prints, and on what status it exits."""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, **options
    )
    assert not run.stderr, run.stderr
    return run.stdout, run.returncode


# ------------------------------------------------------------------ rows in blocks


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100, 1001])
@pytest.mark.parametrize("step", [1, 3, 8, 10_000])
@pytest.mark.parametrize("asked", [1, 2, 3, 100])
def test_every_row_is_done_once(monkeypatch, count, step, asked):
    monkeypatch.setattr(threads, "HELPERS", Workers(3))
    done = np.zeros(count, int)

    def work(start, stop):
        assert stop - start <= step
        done[start:stop] += 1

    parallel_for(work, count, step, asked)
    assert (done == 1).all()


@pytest.mark.parametrize("asked", [1, 2, 4])
def test_an_interrupt_ends_the_loop_when_no_helper_works_any_more(monkeypatch, asked):
    monkeypatch.setattr(threads, "HELPERS", Workers(3))
    at_work, done, caller = [], [], threading.get_ident()

    def work(start, _):
        at_work.append(start)
        time.sleep(0.01)
        done.append(start)
        if threading.get_ident() == caller:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_for(work, 1000, 1, asked)
    assert sorted(at_work) == sorted(done)
    assert len(done) < 100  # of 1000: it ended early
    time.sleep(0.05)
    assert sorted(at_work) == sorted(done)


def test_what_goes_wrong_in_a_helper_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "HELPERS", Workers(1))
    caller = threading.get_ident()

    def work(*_):
        time.sleep(0.001)
        if threading.get_ident() != caller:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        parallel_for(work, 100, 1, 2)


def test_helpers_keep_nothing_when_they_are_done(monkeypatch):
    monkeypatch.setattr(threads, "HELPERS", Workers(3))
    array = np.zeros(100)
    gone = weakref.ref(array)

    def work(start, stop, array=array):
        time.sleep(0.0005)
        array[start:stop] = 1

    parallel_for(work, 100, 1, 4)
    del array, work
    deadline = time.monotonic() + 10
    while gone() is not None and time.monotonic() < deadline:
        gc.collect()
    assert gone() is None


MANY = """
import os, numpy as np, armlet
kernel = armlet.compile(armlet.load("planar2r"), "gravity_torque")
q = np.zeros((1000, 2))
expected = kernel(q)
for threads in range(2, 60):
    assert (kernel(q, threads=threads) == expected).all()
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs /proc")
def test_no_more_threads_are_left_than_there_are_cores():
    few = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    printed, status = python(MANY, env={**os.environ, **few})
    assert status == 0
    assert int(printed) <= CORES + 1  # and the one that compiles


def refuse(*_):
    raise RuntimeError("can't start new thread")


def test_where_no_thread_can_be_had_the_caller_does_the_work(monkeypatch):
    monkeypatch.setattr(threads, "start_new_thread", refuse)
    monkeypatch.setattr(threads, "HELPERS", Workers(3))
    by = set()
    parallel_for(lambda *_: by.add(threading.get_ident()), 100, 1, 4)
    assert by == {threading.get_ident()}
    assert LlvmThread().call(threading.get_ident) == threading.get_ident()


# ------------------------------------------------------------------ calls in a worker


def test_a_call_is_answered_by_another_thread():
    workers = LlvmThread()
    assert workers.call(divmod, 7, 2) == (3, 1)
    assert workers.call(threading.get_ident) == workers.idents[0] != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        workers.call(divmod, 7, 0)
    assert workers.call(divmod, 7, 2) == (3, 1)


def test_a_worker_may_call_itself():
    """As a finalizer does that the garbage collector runs in its thread."""
    workers = LlvmThread()
    assert workers.call(workers.call, divmod, 7, 2) == (3, 1)


def test_an_abandoned_call_goes_on_and_later_ones_wait_for_it():
    workers = LlvmThread()
    release, seen = threading.Lock(), []
    release.acquire()

    def slow():
        release.acquire()
        seen.append("slow")

    def interrupt(queue):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "wait_for", interrupt)
        with pytest.raises(KeyboardInterrupt):
            workers.call(slow)
    release.release()
    workers.call(seen.append, "next")
    assert seen == ["slow", "next"]


# ------------------------------------------------------------------ several threads of LLVM


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(threads, "LLVM_THREADS", [LlvmThread() for _ in range(3)])


def test_all_threads_of_llvm_work_at_once(three):
    together = threading.Barrier(3, timeout=60)

    def work(k):
        together.wait()
        return k * k

    assert sorted(map_unordered(work, 6)) == [(k, k * k) for k in range(6)]


def test_what_one_of_them_raises_is_raised_and_no_more_is_begun(three):
    seen = []

    def work(k):
        seen.append(k)
        if k == 1:
            raise ZeroDivisionError
        time.sleep(0.01)

    with pytest.raises(ZeroDivisionError):
        list(map_unordered(work, 1000))
    count = len(seen)
    time.sleep(0.2)
    assert len(seen) <= count + 3 < 1000
    assert list(map_unordered(abs, 1)) == [(0, 0)]


def test_a_caller_that_is_interrupted_lets_no_more_begin(three, monkeypatch):
    seen = []

    def interrupt(queue):
        queue.get()
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "wait_for", interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(map_unordered(lambda k: (seen.append(k), time.sleep(0.01)), 1000))
    time.sleep(0.2)
    assert len(seen) < 20


def test_another_call_does_not_wait_for_all_of_it(three):
    begun, order = threading.Event(), []

    def work(k):
        begun.set()
        time.sleep(0.01)
        order.append(k)

    thread = threading.Thread(target=lambda: list(map_unordered(work, 200)))
    thread.start()
    begun.wait()
    threads.LLVM_THREADS[0].call(order.append, "other")
    thread.join()
    assert order.index("other") < 100


def test_a_thread_of_llvm_may_share_out_work(three):
    """It does all of it: a job of its own would wait for the one that asks."""
    work = threads.LLVM_THREADS[0].call(lambda: list(map_unordered(lambda k: k, 5)))
    assert work == [(k, k) for k in range(5)]


def test_an_interrupt_while_work_is_shared_out_lets_no_more_begin(three, monkeypatch):
    seen, begin = [], LlvmThread.begin

    def interrupted(thread, job):
        if thread is threads.LLVM_THREADS[2] and not seen:
            raise KeyboardInterrupt
        return begin(thread, job)

    with monkeypatch.context() as patch:
        patch.setattr(LlvmThread, "begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(map_unordered(lambda k: (time.sleep(0.01), seen.append(k)), 1000))
    time.sleep(0.2)
    assert len(seen) < 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_does_not_wait_for_all_of_it(three):
    seen, forked = [], threading.Event()  # before that event all of it would take a minute

    def task(k):
        forked.wait(0.02)
        seen.append(k)

    work = threading.Thread(target=lambda: list(map_unordered(task, 9000)))
    work.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    done = len(seen)
    forked.set()
    work.join()
    assert done < len(seen) == 9000


def test_where_no_thread_of_llvm_can_be_had_the_caller_does_it_all(three, monkeypatch):
    monkeypatch.setattr(threads, "start_new_thread", refuse)
    found = list(map_unordered(lambda k: threading.get_ident(), 4))
    assert found == [(k, threading.get_ident()) for k in range(4)]


def test_after_closing_only_the_caller_uses_llvm():
    thread, at_work, done = LlvmThread(), threading.Event(), []

    def job():
        at_work.set()
        time.sleep(0.1)
        done.append(thread.begin(partial(done.append, "more")))

    thread.begin(job)
    at_work.wait()
    thread.begin(partial(done.append, "next"))
    thread.close()
    assert done == [False]
    assert not thread.begin(partial(done.append, "late"))
    assert thread.call(threading.get_ident) == threading.get_ident()


def test_shared_code_counts_once_others_can_find_it(monkeypatch):
    """An interrupt, a fork or another thread may come between compiling it and saying where."""
    shared = []

    def interrupted(addresses):
        shared.append(addresses)
        if len(shared) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(cpu, "SHARED_CODE", {})
    monkeypatch.setattr(cpu, "add_symbols", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cpu.share("float64")
    cpu.share("float64")
    cpu.share("float64")
    assert len(shared) == 2


# ------------------------------------------------------------------ exit

EXIT = """
import atexit, numpy as np, armlet
robot = armlet.load("planar2r")
q = np.ones((1000, 2))
expected = robot.gravity_torque(q) if {warm} else None

def last():
    found = robot.gravity_torque(q, threads=2)
    print(found.shape, expected is None or (found == expected).all())

{how}
"""
FINALIZER = "class Last:\n    def __del__(self): last()\nprecious = Last()\n"
LATE = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), last())).start()"
AT_EXIT = {
    "a handler": ("atexit.register(last)", True),
    "a handler that compiles": ("atexit.register(last)", False),
    "a thread": (LATE, True),
    "a thread that compiles": (LATE, False),
    "a finalizer": (FINALIZER, True),
    "a finalizer in a cycle": (FINALIZER + "precious.itself = precious", True),
}


@pytest.mark.parametrize(("how", "warm"), AT_EXIT.values(), ids=AT_EXIT)
def test_kernels_work_to_the_very_end(how, warm):
    assert python(EXIT.format(how=how, warm=warm)) == ("(1000, 2) True\n", 0)


LONG_JOB = """
import ctypes, os, sys, threading, time
import numpy as np, armlet
from armlet.runtime import Kernel
robot = armlet.load("panda")
first = next(iter(armlet.formulations("state_space")))
kernel = Kernel(armlet.trace(robot, "state_space", first))
"""
PIECES_JOB = """
import os, sys, threading, time
import numpy as np, armlet
from armlet.graph import trace_function
from armlet.runtime import Kernel

def wide(_, x):
    for k in range(300):
        x = x * np.roll(x, k) + k
    return x

kernel = Kernel(trace_function("wide", wide, {"x": (40,)}))
kernel.code
"""
EXIT_WHILE_COMPILING = """
threading.Thread(target=kernel, args={args}, daemon=True).start()
time.sleep({delay})
"""
JOBS = {"one": (LONG_JOB, "np.zeros((3, 7))"), "pieces": (PIECES_JOB, "np.zeros((1, 40))")}


@pytest.mark.parametrize("delay", [0.1, 0.3])
@pytest.mark.parametrize(("job", "args"), JOBS.values(), ids=JOBS)
def test_a_process_may_exit_while_it_compiles(monkeypatch, job, args, delay):
    monkeypatch.setenv("ARMLET_CACHE", "off")
    assert python(job + EXIT_WHILE_COMPILING.format(args=args, delay=delay)) == ("", 0)


# ------------------------------------------------------------------ fork

FORK_WHILE_COMPILING = """
import signal, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads, since Python 3.12
small = armlet.compile(armlet.load("planar2r"), "gravity_torque")
q = np.zeros((100, 2))
results = []
for trial in range(3):
    kernel = Kernel(kernel.program)
    thread = threading.Thread(target=kernel, args={args})
    thread.start()
    time.sleep(0.02 + 0.08 * trial)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        Kernel(small.program)(q, threads=2)
        Kernel(small.program)(q[0])
        os._exit(0)
    results.append(os.waitpid(child, 0)[1])
    thread.join()
print(results)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("job", "args"), JOBS.values(), ids=JOBS)
def test_a_process_may_fork_while_it_compiles(monkeypatch, job, args):
    """The child compiles and uses threads of its own; at worst it is stopped after a minute."""
    monkeypatch.setenv("ARMLET_CACHE", "off")
    assert python(job + FORK_WHILE_COMPILING.format(args=args)) == (f"{[0] * 3}\n", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_llvm(monkeypatch):
    at_work, done = threading.Event(), []

    def job():
        at_work.set()
        time.sleep(0.2)
        done.append(True)

    thread = threading.Thread(target=engine.in_llvm, args=[job])
    thread.start()
    at_work.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if done else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_may_fork_while_a_thread_computes_a_property_of_a_robot(monkeypatch):
    """The child computes it of another robot: no lock is left that only that thread could open."""
    at_work, finish, caller = threading.Event(), threading.Event(), threading.get_ident()

    def slow(data):
        if threading.get_ident() != caller:
            at_work.set()
            finish.wait()
        return repr(data)

    monkeypatch.setattr(model, "hashable", slow)
    robot = armlet.load("planar2r")
    thread = threading.Thread(target=hash, args=[robot.with_payload(1.0, com=(0, 0, 0))])
    thread.start()
    at_work.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        hash(robot.with_payload(2.0, com=(0, 0, 0)))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    finish.set()
    thread.join()
    assert status == 0


def test_no_property_holds_a_lock_while_it_is_computed():
    """As those of functools do in Python 3.11."""
    sources = Path(armlet.__file__).parent.rglob("*.py")
    pattern = re.compile(r"from functools import .*cached_property|functools\.cached_property\(")
    assert not [path for path in sources if pattern.search(path.read_text("utf-8"))]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_and_its_own_forks_compile():
    def answer(depth):
        child = os.fork()
        if child == 0:
            right = engine.in_llvm(divmod, 7, 2) == (3, 1)
            below = answer(depth - 1) if depth else 0
            os._exit(0 if right and below == 0 else 1)
        return os.waitpid(child, 0)[1]

    assert engine.in_llvm(divmod, 7, 2) == (3, 1)
    assert answer(2) == 0
    assert engine.in_llvm(divmod, 7, 2) == (3, 1)


def test_llvm_is_used_in_one_thread_only(monkeypatch):
    """Where an interrupt is raised, llvmlite's lock may stay taken for good."""
    seen = set()
    enter = type(engine.llvm.ffi.lib._lock).__enter__

    def noted(lock):
        seen.add(threading.get_ident())
        return enter(lock)

    monkeypatch.setattr(type(engine.llvm.ffi.lib._lock), "__enter__", noted)
    monkeypatch.setenv("ARMLET_CACHE", "off")
    text = "define void @nothing() {\nret void\n}\n"
    engine.host("float64")
    code = engine.compile_ir(text, "nothing")
    ctypes.CFUNCTYPE(None)(code.addresses["nothing"])()
    del code
    gc.collect()
    engine.in_llvm(engine.free_released)
    assert seen == set(threads.LLVM_THREADS[0].idents)
