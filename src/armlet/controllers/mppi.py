"""Model predictive path integral control: simulate random plans, then average them by cost."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from armlet._support import validation
from armlet.api.functions import Function, function
from armlet.api.robot import Robot
from armlet.controllers.feedback import Array, gains
from armlet.errors import DataError, DataWarning, quote
from armlet.simulation.forces import Plant
from armlet.simulation.rollout import rollout
from armlet.simulation.step import check_result, check_steps


class Sampler:
    """Model predictive path integral controller (Williams and others 2017).

    A plan has one row per future step; by default, torques to be added to the gravity torques.
    Each call creates many plans by random changes of the current plan, and simulates each of them.
    The mean of these plans, with weights exp(-cost / temperature), is the new plan. The call
    returns the torques of the new plan's first step, and then shifts the plan by one step.

    Parameters
    ----------
    robot : Robot or Plant
        As in `armlet.rollout`.
    cost : Function
        A function of q, qd, t (in s since the call), plan (the row of a step) and further arguments
        that returns the cost of the step, a number. The cost of a plan is the sum over its steps.
    dt : float
        The length of a step in s.
    steps : int
        The number of steps in a plan.
    noise : array_like of shape () or (m,)
        The standard deviation of random changes: one number, or one per entry of a row.
    temperature : float
        A plan that costs this much more than the best plan has 1/e of the best plan's weight.
    samples : int
        The number of plans in each call; the first is the current plan without changes.
    correlation : float
        The correlation between changes in consecutive steps, at least 0 and below 1.
    torque : Function, optional
        A function of q, qd, plan (the row of a step, of any size m) and further arguments that
        returns the torques; by default the gravity torques plus the row.
    seed : int or numpy.random.Generator, optional
        The seed of the random changes.
    method, threads
        As in `armlet.rollout`.

    Attributes
    ----------
    plan : array of shape (steps, m)
        The plan for the next steps; initially zero.
    costs : array of shape (samples,)
        The cost of each plan in the last call.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> robot = armlet.load("planar2r")
    >>> @armlet.function(robot, goal=robot.nq)
    ... def cost(q, qd, goal):
    ...     return ((q - goal) ** 2).sum() + 0.02 * (qd**2).sum()
    >>> sampler = armlet.controllers.Sampler(
    ...     robot, cost, dt=0.02, steps=25, noise=[10, 3], temperature=0.2, correlation=0.8, seed=0
    ... )
    >>> def torque(t, q, qd):
    ...     return sampler(q, qd, goal=[1.0, 0.5])
    >>> run = armlet.simulate(robot, [0, 0], torque=torque, duration=2.0, dt=0.02, method="rk4")
    >>> bool(np.abs(run.q[-1] - [1.0, 0.5]).max() < 0.1)
    True
    """

    def __init__(
        self,
        robot: Robot | Plant,
        cost: Function,
        *,
        dt: float,
        steps: int,
        noise: ArrayLike,
        temperature: float,
        samples: int = 512,
        correlation: float = 0.0,
        torque: Function | None = None,
        seed: int | np.random.Generator | None = None,
        method: str | None = None,
        threads: int = 1,
    ) -> None:
        check_steps(dt, steps)
        validation.integer(threads, "threads", low=1)
        validation.integer(samples, "samples", low=2)
        validation.number(temperature, "temperature", above=0)
        validation.number(correlation, "correlation", low=0, below=1)
        arm = robot.robot if isinstance(robot, Plant) else robot

        @function(arm, plan=arm.nv)
        def torque_above_gravity(q: Array, plan: Array) -> Array:
            return arm.gravity_torque(q) + plan

        self.robot, self.cost, self.torque = robot, cost, torque or torque_above_gravity
        check_result("cost", cost, ())
        check_result("torque", self.torque, (arm.nv,))
        plan = self.torque.inputs.get("plan")
        if plan is None or len(plan.shape) != 1:
            raise DataError(f"{self.torque!r} has no argument plan of shape (m,): expected one")
        (size,) = plan.shape
        self.dt, self.steps, self.samples = dt, steps, samples
        self.noise = gains("noise", noise, size)
        self.temperature, self.correlation = temperature, correlation
        self.method, self.threads = method, threads
        self.random = np.random.default_rng(seed)
        self.plan: Array = np.zeros((steps, size))
        self.costs: Array = np.zeros(samples)

    def __call__(self, q: ArrayLike, qd: ArrayLike, **arguments: ArrayLike) -> Array:
        """Return torques (n,) for a state; `arguments` go to the cost and the torque function."""
        q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
        self.improve(q, qd, arguments)
        now = {**arguments, "t": np.zeros(()), "q": q, "qd": qd, "plan": self.plan[0]}
        tau = self.torque(*(now[name] for name in self.torque.inputs))
        self.plan = np.concatenate([self.plan[1:], self.plan[-1:]])
        return np.asarray(tau)

    def improve(self, q: Array, qd: Array, arguments: Mapping[str, ArrayLike]) -> None:
        """Replace the plan by the weighted mean of random plans, each simulated from (q, qd)."""
        if "plan" in arguments:
            raise DataError(
                "plan is an argument: expected others, as the plan is the sampler's own"
            )
        changes = self._changes()
        plans = self.plan[:, None] + changes
        starts = np.tile(q, (self.samples, 1)), np.tile(qd, (self.samples, 1))
        with warnings.catch_warnings():
            # plans that diverge get weight zero
            warnings.filterwarnings("ignore", ".*roll-outs diverge", DataWarning)
            runs = rollout(
                self.robot,
                *starts,
                self.torque,
                dt=self.dt,
                steps=self.steps,
                reduce=self.cost,
                arguments={**arguments, "plan": plans},
                method=self.method,
                threads=self.threads,
            )
        assert runs.cost is not None
        self.costs = np.where(np.isfinite(runs.cost), runs.cost, np.inf)
        least = self.costs.min()
        if not np.isfinite(least):
            raise DataError(
                f"no plan of {self.samples} has a finite cost from q = {quote(q.tolist())}: "
                "expected less noise, a shorter dt or a cost that is finite"
            )
        weights = np.exp((least - self.costs) / self.temperature)
        self.plan = self.plan + np.einsum("k,skm->sm", weights / weights.sum(), changes)

    def _changes(self) -> Array:
        """Return random changes of the plan, (steps, samples, m); sample 0 has no changes."""
        shape = (self.steps, self.samples, len(self.noise))
        changes: Array = self.noise * self.random.standard_normal(shape)
        for k in range(1, self.steps):
            fresh = np.sqrt(1 - self.correlation**2) * changes[k]
            changes[k] = self.correlation * changes[k - 1] + fresh
        changes[:, 0] = 0
        return changes
