"""Ctrl-C at random moments in processes of their own, and what became of it.

One process imports armlet and prepares every task; each trial is a fork of it, which sets a timer
whose signal is handled as Python handles Ctrl-C, does the task and exits as scripts do. A second
fork does the same task from the same cache and is not interrupted.

    python tests/interrupts.py --trials 1000 --seed 0
"""

import argparse
import atexit
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

import armlet
from armlet.graph import trace_function
from armlet.runtime import Kernel

OUTCOMES = ("heard", "finished", "late", "lost", "wrong", "crashed", "hung", "poisoned")
"""What a trial may come to.

heard: KeyboardInterrupt was raised within a second; finished: the task ended before the signal.
All others are failures. late: raised after more than a second; lost: swallowed, the task went on;
wrong: the task, done again in that process, fails or gives other bits, or the garbage collector
stays off; crashed: the process died;
hung: it did not end; poisoned: a fresh process with the same cache fails or gives other bits.
"""
GOOD = ("heard", "finished")
PROMPT = 1.0
"""Seconds in which an interrupt must be heard."""
RARE = 20
"""One in so many rounds has trials of the long tasks."""
PATIENCE = 120
"""Seconds after which a process counts as hung."""
FIRST_CODE = 40
"""The exit status of the first outcome, apart from those of Python itself."""


class Task(NamedTuple):
    """Something to interrupt."""

    work: Callable[[], np.ndarray]
    cached: bool | None = None
    """Whether a trial has a full cache (True), an empty one (False) or none."""


def rows(robot, count):
    return np.random.default_rng(0).uniform(-3, 3, (2, count, robot.nv))


def tasks():
    """The tasks by name; what is not to be interrupted is done here, once."""
    ur5e, scara = armlet.load("ur5e"), armlet.load("scara")
    q, qd = rows(ur5e, 400_000)
    program = armlet.trace(ur5e, "bias", "newton_euler")
    long = armlet.trace(ur5e, "state_space", next(iter(armlet.formulations("state_space"))))
    batch = Kernel(program)
    batch(q[:9], qd[:9])

    def roots(_, x):
        for k in range(3000):
            x = np.array([(y + k).sqrt() for y in x])
        return x

    slow, x = Kernel(trace_function("roots", roots, {"x": (1,)})), np.ones((2_000_000, 1))
    slow(x[:9])

    def wide(_, x):
        for k in range(300):
            x = x * np.roll(x, k) + k
        return x

    large = trace_function("wide", wide, {"x": (40,)})

    def cold():
        return Kernel(program)(q[0], qd[0])

    def warm():
        robot = armlet.load("ur5e")
        return np.vstack([robot.bias(q[0], qd[0]), robot.bias(q[:9], qd[:9])])

    def search():
        return armlet.trace(scara, "bias").function()(q[:3, :4], qd[:3, :4])

    return {
        "cold": Task(cold, cached=False),
        "warm": Task(warm, cached=True),
        "threads": Task(lambda: batch(q, qd, threads=2)),
        "rows": Task(lambda: batch(q, qd)),
        "search": Task(search, cached=False),
        "slow": Task(lambda: slow(x)),
        "slow_threads": Task(lambda: slow(x, threads=2)),
        "long": Task(lambda: Kernel(long)(*np.ones((3, 2, 6)))[0], cached=False),
        "pieces": Task(lambda: Kernel(large)(np.full((9, 40), 1e-3)), cached=False),
    }


FREQUENT = ("cold", "warm", "threads", "rows", "search")
LONG = ("long", "pieces")
MODES = (*FREQUENT, *LONG)
"""Those that random moments are tried in, the long ones now and then."""


# ------------------------------------------------------------------ in the process that is forked


class Zygote:
    """The process of which every trial is a fork."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.tasks = tasks()
        self.expected, self.seconds = {}, {}

    def measure(self, mode, task):
        """Do a task once in a fork, to know its result and how long it takes."""
        reading, writing = os.pipe()
        if os.fork() == 0:
            enter(task, self.folder / mode)
            if task.cached:
                task.work()
            start = time.monotonic()
            value = task.work()
            spent = time.monotonic() - start
            os.write(writing, json.dumps([spent, digest(value)]).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as answer:
            self.seconds[mode], self.expected[mode] = json.load(answer)
        os.wait()

    def run(self, mode, seed, delay=None):
        """The outcome of one trial, after a delay in seconds; by default any while it runs."""
        task = self.tasks[mode]
        again = delay is None
        if mode not in self.expected and (again or task.cached is not None):
            self.measure(mode, task)
        rng = np.random.default_rng([seed, *mode.encode()])
        if delay is None:
            delay = rng.uniform(0, 1.1) * self.seconds[mode]
            again = bool(rng.integers(2))
        place = self.folder / f"{mode}{seed}"
        if task.cached:
            shutil.copytree(self.folder / mode, place)
        code = forked(lambda: self.interrupted(mode, place, delay, again))
        outcome = named(code)
        if outcome in GOOD and task.cached is not None:
            code = forked(lambda: self.undisturbed(mode, place))
            outcome = outcome if code == 0 else "poisoned"
        shutil.rmtree(place, ignore_errors=True)
        return outcome

    def undisturbed(self, mode, place):
        enter(self.tasks[mode], place)
        return 0 if digest(self.tasks[mode].work()) == self.expected[mode] else 1

    def interrupted(self, mode, place, delay, again):
        """The exit status of a trial: do the task, and half of the time once more."""
        task = self.tasks[mode]
        enter(task, place)
        delivered = []

        def handler(number, frame):
            delivered.append(number)
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, handler)
        start = time.monotonic()
        outcome = None
        try:
            signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6))
            task.work()
            signal.setitimer(signal.ITIMER_REAL, 0)
            outcome = "lost" if delivered else "finished"
        except KeyboardInterrupt:
            outcome = "heard" if time.monotonic() - start - delay < PROMPT else "late"
        if outcome in GOOD and again and digest(task.work()) != self.expected[mode]:
            outcome = "wrong"
        if not collects():
            outcome = "wrong"
        return FIRST_CODE + OUTCOMES.index(outcome)


def collects():
    """Whether garbage is collected again, once threads have printed the pieces they had begun."""
    deadline = time.monotonic() + PROMPT
    while not gc.isenabled() and time.monotonic() < deadline:
        time.sleep(0.001)
    return gc.isenabled()


def enter(task, place):
    """Use the cache that a task is to have."""
    os.environ["ARMLET_CACHE"] = "off" if task.cached is None else str(place)


def digest(value):
    return sha256(value.tobytes()).hexdigest()


def forked(function):
    """The exit status of a function in a fork, None if it had to be killed."""
    child = os.fork()
    if child == 0:
        sys.exit(function())  # not os._exit: what happens at exit is part of the trial
    deadline = time.monotonic() + PATIENCE
    pause = 0.0005
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def named(code):
    """The outcome that an exit status stands for."""
    if code is None:
        return "hung"
    if code < 0:
        return "crashed"
    k = code - FIRST_CODE
    return OUTCOMES[k] if 0 <= k < len(OUTCOMES) else "wrong"


def serve(folder):
    """Answer requests, each a line, until there are no more."""
    zygote = Zygote(folder)
    for line in sys.stdin:
        print(zygote.run(**json.loads(line)), flush=True)


# ------------------------------------------------------------------ in the process that asks


@cache
def server():
    """The process that runs trials for this one."""
    folder = tempfile.TemporaryDirectory(prefix="interrupts")
    command = [sys.executable, __file__, "--serve", folder.name]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @atexit.register
    def end():
        child.communicate()
        folder.cleanup()

    return child


def interrupted_run(mode, delay=None, seed=0):
    """The outcome, one of OUTCOMES, of one trial.

    Parameters
    ----------
    mode : str
        One of MODES, "slow" or "slow_threads".
    delay : float, optional
        Seconds from the start of the task to the signal; by default random, from the seed.
    seed : int
    """
    child = server()
    child.stdin.write(json.dumps({"mode": mode, "seed": seed, "delay": delay}) + "\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


def figures(found):
    """A table of the outcomes of each mode."""
    lines = [f"{'mode':9}{'tried':>9}" + "".join(f"{name:>10}" for name in OUTCOMES)]
    for mode, outcomes in found.items():
        counts = "".join(f"{outcomes[name]:>10}" for name in OUTCOMES)
        lines.append(f"{mode:9}{outcomes.total():>9}{counts}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modes", nargs="*", default=MODES)
    parser.add_argument("--serve", metavar="FOLDER")
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve)
        return
    found = {mode: Counter() for mode in asked.modes}
    share = {mode: RARE if mode in LONG else 1 for mode in asked.modes}
    for k in range(asked.trials):
        mode = asked.modes[k % len(asked.modes)]
        if k // len(asked.modes) % share[mode] == 0:
            outcome = interrupted_run(mode, seed=asked.seed + k)
            found[mode][outcome] += 1
            if outcome not in GOOD:
                print(f"{mode} with seed {asked.seed + k}: {outcome}", flush=True)
    print(figures(found))
    sys.exit(any(outcomes[name] for outcomes in found.values() for name in OUTCOMES[len(GOOD) :]))


if __name__ == "__main__":
    main()
