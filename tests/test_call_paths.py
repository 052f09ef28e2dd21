"""How many functions a call goes through: docs/design.md has the list."""

import numpy as np
from support.call_paths import Watched, functions_until, path_to_here

import armlet
from armlet.runtime import engine, python_call
from armlet.runtime.loop_kernel import LoopKernel


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


def test_a_roll_out_reaches_the_loop_kernel_in_twelve_functions(monkeypatch):
    """Where it is made, the step traced, and where it is run."""
    paths = []

    class Kernel(LoopKernel):
        def __init__(self, *args):
            paths.append(path_to_here())
            super().__init__(*args)

        def pieces(self, *args):
            paths.append(path_to_here())
            return super().pieces(*args)

    monkeypatch.setattr("armlet.simulation.step.LoopKernel", Kernel)
    armlet.rollout(armlet.load("panda"), np.zeros((100, 7)), dt=1e-3, steps=3)
    made, run = paths
    assert run == ["simulation.rollout.rollout", "simulation.step.run"]
    assert made[: len(run)] == run
    assert len(made) < 12, made


def test_every_argument_of_a_roll_out_is_read_on_a_straight_way():
    """Few functions are entered before the loop kernel, beside those that check arguments."""
    robot = armlet.load("planar2r")

    @armlet.function(robot, target=2)
    def hold(q, qd, target):
        return robot.gravity_torque(q) + 50 * (target - q) - 5 * qd

    def call():
        arguments = {"target": np.zeros(2)}
        armlet.rollout(robot, np.zeros((3, 2)), None, hold, arguments=arguments, dt=1e-3, steps=2)

    call()
    entered = functions_until(call, "runtime.loop_kernel.LoopKernel.results")
    beside = [name for name in entered if not name.startswith("_support.")]
    assert beside[0] == "simulation.rollout.rollout"
    assert len(beside) <= 20, beside
