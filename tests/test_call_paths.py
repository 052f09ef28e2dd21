"""How many functions a call goes through: docs/design.md has the list."""

import numpy as np
import pytest
from support.call_paths import Watched, functions_until, path_to_here, paths_within
from support.logs import random_arm, recorded

import armlet
from armlet.runtime import cpu, engine
from armlet.runtime.loop_kernel import LoopKernel


def test_a_first_call_reaches_llvm_in_fifteen_functions(monkeypatch):
    """With nothing in memory but what is cached on disk; LLVM has a thread of its own."""
    state = np.zeros((3, 7))
    armlet.load("panda").inverse_dynamics(*state)
    llvm = Watched(engine.llvm)
    monkeypatch.setattr(engine, "llvm", llvm)
    monkeypatch.setattr(cpu, "SHARED_CODE", {})
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

        def run_blocks(self, *args):
            paths.append(path_to_here())
            return super().run_blocks(*args)

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
    entered = functions_until(call, "runtime.loop_kernel.LoopKernel.empty_results")
    beside = [name for name in entered if not name.startswith("_support.")]
    assert beside[0] == "simulation.rollout.rollout"
    assert len(beside) <= 20, beside


def test_an_identification_and_its_report_are_twenty_functions_deep_at_most(tmp_path):
    """With kernels that are compiled already; the deepest call is that of the regressor."""
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    robot = random_arm(1, n=2)
    log = recorded(robot, 1, duration=6.0)

    def identify():
        armlet.identify(robot, log, validation=0.2).report(tmp_path / "report.html")

    identify()
    paths = paths_within(identify)
    for start in ("identification.identify.identify", "identification.result.Identified.report"):
        longest = max((path for path in paths if path[0] == start), key=len)
        assert "identification.estimation.torque_model.TorqueRegressor.columns" in longest
        assert len(longest) <= 20, longest
