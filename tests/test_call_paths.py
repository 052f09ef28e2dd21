"""How many functions a call goes through: docs/design.md has the list."""

import numpy as np
from support.call_paths import Watched

import armlet
from armlet.runtime import engine, python_call


def test_a_first_call_reaches_llvm_in_fifteen_functions(monkeypatch):
    """With nothing in memory but what is cached on disk; LLVM has a thread of its own."""
    state = np.zeros((3, 7))
    armlet.load("panda").inverse_dynamics(*state)
    llvm = Watched(engine.llvm)
    monkeypatch.setattr(engine, "llvm", llvm)
    monkeypatch.setattr(python_call, "SHARED_CODE", {})
    armlet.load("panda").inverse_dynamics(*state)
    longest = max(llvm.paths, key=len)
    assert longest[0] == "api.robot.Robot.inverse_dynamics"
    assert longest[-1] == "runtime.engine.machine"
    assert len(longest) <= 15, longest
