"""Simulations and roll-outs with random options: armlet refuses them or agrees with a NumPy loop.

The loop uses armlet's inertia matrices and biases, which the class `robots` tests; it computes
torques, friction, stops, integrators, rows, events, costs and derivatives by itself.
"""

import tempfile
import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from support.robots import coupled_urdf, random_urdf

import armlet
from armlet import DataWarning, Friction, Stops
from armlet.simulation.simulate import ADAPTIVE
from fuzz import pick

ROBOTS = 10
NAMES = (
    *("inertia", "tau", "dt", "memory", "row", "u", "cost", "q0", "torque", "gradient", "steps"),
    *("weight_q", "direction_qd", "tangent_q", "cotangent_qd", "arguments", "x", "self", "k", "μ"),
    *("_", "__class__", "graph"),
)
"""Names of arguments, some of which are names of inputs inside armlet's loops."""
ODD = 0.3
"""The share of trials in which one option has a value that armlet must refuse."""
SUBSTEPS = 20
"""The Runge-Kutta steps of the loop for one `dt` of a method that the loop does not have."""
LARGE = 1e3
"""Larger states are not compared, since rounding errors may have grown too much."""


def trial(rng, folder):
    case = Case(rng, robot_of(int(rng.integers(ROBOTS))))
    one = case.runs is None
    options = case.simulate_options() if one else case.rollout_options()
    if case.method == "default":
        del options["method"]
    odd = ""
    if rng.random() < ODD:
        odd = str(rng.choice([name for name in odd_values(case) if name in ALWAYS[one]]))
        if odd in ("gradient", "tangents"):
            options = {x: y for x, y in options.items() if x not in ("gradient", "tangents")}
        options[odd] = pick(rng, odd_values(case)[odd])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with np.errstate(all="ignore"):
            try:
                found = call(case, **options)
            except armlet.ArmletError:
                if not odd:
                    raise
                return
    assert not odd, f"not refused: {odd}={options[odd]!r}"
    said = [x for x in said if issubclass(x.category, DataWarning)]
    (check_simulation if one else check_roll_outs)(case, found, options, said)


def call(case, friction, stops=False, inertia=None, **options):
    """Simulate or roll out a case, with armlet's arguments made from the options."""
    plant = armlet.Plant(case.robot, friction, stops, inertia)
    if case.runs is None:
        method = options.get("method")
        adaptive = armlet.Adaptive(rtol=options.pop("rtol"), atol=options.pop("atol"))
        if "method" not in options or (isinstance(method, str) and method in ADAPTIVE):
            options["method"] = replace(adaptive, method=method)
        return armlet.simulate(plant, **options)
    for name in ("tangents", "gradient"):
        if name in options:
            options["wrt"] = options.pop(name)
    return armlet.rollout(plant, **options)


@cache
def robot_of(number):
    """Robot `number` of `ROBOTS`: trials reuse few robots, so that each is compiled only once."""
    joints = 1 + number % 3
    coupled = number == ROBOTS - 1
    text = coupled_urdf(number, 3)[0] if coupled else random_urdf(number, joints, number % 2)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", armlet.ModelWarning)
        path = Path(folder, "robot.urdf")
        path.write_text(text)
        return armlet.load(path)


# ------------------------------------------------------------------ cases


@dataclass
class Case:
    """One or several roll-outs of a robot: initial states, torques, and other options."""

    rng: np.random.Generator
    robot: armlet.Robot
    arguments: dict = field(default_factory=dict)
    shapes: dict = field(default_factory=dict)
    """The shapes of arguments in one step of one roll-out."""
    price: armlet.Function | None = None

    def __post_init__(self):
        rng, n = self.rng, self.robot.nv
        self.runs = None if rng.random() < 0.5 else int(pick(rng, (1, 2, 3, 9)))
        self.steps = int(pick(rng, [k for k in (1, 2, 3, 4, 5, 7, 8) if k != self.runs]))
        self.every = int(pick(rng, (1, 1, 2, 3, 10)))
        self.dt = float(pick(rng, (1e-4, 1e-3, 2.5e-3, 1e-2)))
        methods = ["default", *armlet.INTEGRATORS]
        methods += () if self.runs else ("dop853", "rk45", "radau", "lsoda")
        self.method = str(pick(rng, methods))
        count = self.runs or 1
        self.q0, self.qd0 = rng.uniform(-1, 1, (2, count, n))
        if self.runs and rng.random() < 0.1:
            self.q0[rng.integers(count)] = np.nan
        self.inertia = None
        if self.runs and rng.random() < 0.3:
            self.inertia = self.robot.phi * rng.uniform(0.9, 1.1, (count, self.robot.nb, 1))
            if rng.random() < 0.5:
                self.inertia = self.inertia[0]
        friction = Friction(rng.uniform(0.5, 2), pick(rng, (0.0, 0.3, (0.2,) * self.robot.nb)), 1.0)
        self.friction = pick(rng, (False, True, friction))
        self.stops = pick(rng, (None, None, Stops(50.0, 1.0, 0.1)))
        self.torque = pick(
            rng, (self.no_torque, self.array, self.program, self.program, self.python)
        )()
        self.names = [*self.arguments]

    @property
    def adaptive(self):
        return self.method not in armlet.INTEGRATORS and not self.runs

    @property
    def has_memory(self):
        return self.method in armlet.INTEGRATORS and armlet.INTEGRATORS[self.method].memory > 0

    def rows(self, shape):
        """A random array: one value, or values for every step, every roll-out, or both."""
        axes = [(), (self.steps,)]
        if self.runs:
            axes += [(self.runs,), (self.steps, self.runs)]
        return self.rng.uniform(-1, 1, (*pick(self.rng, axes), *shape))

    def at(self, array, shape, step, run):
        """The value of an array of `rows` in a step of a roll-out."""
        axes = array.ndim - len(shape)
        if axes == 2:
            return array[step, run]
        if axes == 0:
            return array
        return array[step] if len(array) == self.steps else array[run]

    def no_torque(self):
        return None

    def array(self):
        return 0.3 * self.rows((self.robot.nv,))

    def program(self):
        names = [str(x) for x in self.rng.choice(NAMES, 2, replace=False)]
        shapes = [pick(self.rng, ((), (self.robot.nv,))) for _ in names]
        self.arguments |= {
            name: self.rows(shape) for name, shape in zip(names, shapes, strict=True)
        }
        self.shapes = dict(zip(names, shapes, strict=True))
        law = f"0.2 * {names[0]} - 0.1 * q * {names[1]} - 0.05 * qd + 0.1 * np.sin(9 * t)"
        return self.function("law", ["q", "qd", "t", *names], law, self.shapes)

    def python(self):
        """A torque function that overwrites its inputs and reuses its output array."""
        if self.runs or self.has_memory:
            return self.array()
        kept = np.zeros(self.robot.nv)

        def law(t, q, qd):
            assert type(t) is float
            kept[:] = 0.2 - 0.1 * q - 0.05 * qd + 0.1 * np.sin(9 * t)
            q[:], qd[:] = np.nan, 7
            return kept

        return law

    def function(self, name, inputs, text, shapes):
        known = {"np": np}
        exec(f"def {name}({', '.join(inputs)}): return {text}", known)
        return armlet.function(self.robot, **shapes)(known[name])

    def simulate_options(self):
        rng = self.rng
        options = {
            "q0": self.q0[0],
            "qd0": self.qd0[0],
            "torque": self.torque,
            "dt": self.dt,
            "duration": self.steps * self.dt,
            "every": self.every,
            "method": self.method,
            "friction": self.friction,
            "arguments": dict(self.arguments),
            "limits": pick(rng, ("ignore", "error")),
            "stops": bool(rng.random() < 0.3),
            "rtol": 1e-9,
            "atol": 1e-10,
        }
        self.stops = None  # the motion does not reach the robot's own stops
        self.event = float(rng.uniform(0.1, 1)) * self.steps * self.dt
        self.ends = bool(rng.random() < 0.5)
        on = self.function("on", ["t"], f"t - {self.event}", {})
        function = pick(rng, (lambda t, q, qd: t - self.event, on))
        happens = armlet.Event(function, int(pick(rng, (0, 1, -1))), self.ends, "on")
        self.happens = happens.direction >= 0
        options["events"] = pick(rng, ([], [happens]))
        options["record"] = pick(rng, ([], ["bias"]))
        if "tau" not in self.names and rng.random() < 0.5:
            inputs, text = ["tau", "qdd", "q", *self.names], self.sum_of("tau * qdd")
            options["record"] = ["bias", self.function("more", inputs, text, self.shapes)]
        return options

    def sum_of(self, first):
        terms = "".join(f" + 0.3 * np.sum({name})" for name in self.names)
        return f"np.sum({first} + q){terms}"

    def rollout_options(self):
        rng = self.rng
        options = {
            "q0": self.q0,
            "qd0": self.qd0,
            "torque": self.torque,
            "dt": self.dt,
            "steps": self.steps,
            "every": self.every,
            "method": self.method,
            "friction": self.friction,
            "stops": self.stops or False,
            "inertia": self.inertia,
            "arguments": dict(self.arguments),
            "threads": pick(rng, (1, 2, 3, np.int64(2), 2**70)),
        }
        if rng.random() < 0.6:
            inputs = ["q", "qd", "t", *self.names]
            text = self.sum_of("q * qd + t * q")
            self.price = self.function("price", inputs, text, self.shapes)
            options["reduce"] = self.price
        if rng.random() < 0.5 and not self.has_memory and self.stops is None:
            derivative = self.tangents()
            if derivative and rng.random() < 0.5:
                options["tangents"] = {name: x[2] for name, x in derivative.items()}
            elif derivative and self.price is not None:
                options["gradient"] = [*derivative]
            self.moved = derivative
        return options

    def tangents(self):
        """Random variables of differentiation, each with its container, key and tangent."""
        own = {"q0": (vars(self), "q0"), "qd0": (vars(self), "qd0")}
        if isinstance(self.torque, np.ndarray):
            own["torque"] = vars(self), "torque"
        if self.inertia is not None:
            own["inertia"] = vars(self), "inertia"
        every = own | {x: (self.arguments, x) for x in self.names if x not in own}
        chosen = [x for x in every if x not in self.names or x not in own]
        chosen = [x for x in chosen if self.rng.random() < 0.6]
        return {
            x: (*every[x], self.rng.uniform(-1, 1, np.shape(every[x][0][every[x][1]])))
            for x in chosen
        }


COMMON = ["q0", "qd0", "torque", "dt", "every", "method", "friction", "arguments"]
ALWAYS = {
    True: (*COMMON, *["duration", "limits", "rtol", "atol", "events", "record"]),
    False: (*COMMON, *["steps", "stops", "inertia", "threads", "reduce", "gradient", "tangents"]),
}
"""The options of `simulate` (True) and of `rollout` (False)."""


def odd_values(case):
    """Values of each option that armlet must refuse."""
    n, axes = case.robot.nv, () if case.runs is None else (case.runs,)
    no_number = ("1", None, np.nan, np.inf, -1.0, 0, [1e-3, 1e-3], 1j, object(), {})
    no_count = (0, -1, 2.5, "2", None, np.nan, [2], 1j)
    wrong = (
        np.zeros((*axes, n + 1)),
        np.zeros((3, 2, 5, n)),
        "a",
        {},
        object(),
        [[1.0], [2, 3]],
        np.full((*axes, n), 1j),
        np.zeros((*axes, n), "M8[s]"),
    )
    other = case.function("other", ["q", "unheard"], "q + unheard", {"unheard": ()})
    wide = case.function("wide", ["q"], "np.concatenate([q, q])", {})
    number = case.function("number", ["q"], "np.sum(q)", {})
    moves = {} if case.runs is None else {"torque": (lambda t, q, qd: qd,)}
    return {
        "q0": (None, *wrong, np.full(n, np.nan)),
        "qd0": wrong,
        "torque": (*wrong, *moves.get("torque", ()), other, wide, number),
        "dt": tuple(x for x in no_number if x is not None or case.runs),
        "duration": (*no_number, 1.7 * case.dt, 0.3 * case.dt),
        "steps": no_count,
        "every": no_count,
        "threads": no_count,
        "rtol": no_number,
        "atol": no_number,
        "method": ("euler", "", 3, ["rk4"], {}),
        "friction": (3, "yes", None, Friction(stribeck=(0.1,) * (case.robot.nb + 1))),
        "limits": ("bounce", None, 3, ["error"]),
        "stops": (3, "yes", None),
        "inertia": ("a", np.zeros((case.robot.nb, 9)), np.zeros(10), object()),
        "arguments": (
            {**case.arguments, "unheard": 1.0},
            {**case.arguments, "q": 1.0},
            "a",
            3,
            {**case.arguments, "t": 0.0},
            *({x: "a"} for x in case.names),
            *({**case.arguments, x: np.zeros((7, 7, 7, 7))} for x in case.names),
        ),
        "reduce": (3, "q", lambda q: q, wide, other),
        "gradient": (["nothing"], "q0", [3], ["q"]),
        "tangents": ({"nothing": 1.0}, {"q0": 1.0}, {"q0": "a"}, {"qd": np.zeros((*axes, n))}),
        "events": (
            [3],
            [None],
            3,
            lambda t, q, qd: t,
            [lambda t, q, qd: np.ones(2)],
            [lambda t, q, qd: "a"],
            [other],
        ),
        "record": (
            "bias",
            ["nothing"],
            [3],
            [None],
            [other],
            ["bias", "bias"],
            [["bias"]],
            3,
            [lambda q: q],
            ["inverse_dynamics", "regressor"] * 2,
        ),
    }


# ------------------------------------------------------------------ the loop


class Loop:
    """Roll-out `run` of a case, in plain NumPy."""

    def __init__(self, case, run=0):
        self.case, self.run = case, run
        self.robot = robot = case.robot
        if case.inertia is not None:
            phi = case.inertia if case.inertia.ndim == 2 else case.inertia[run]
            self.robot = robot.with_inertia(phi)
        self.K = robot._joint_velocities(np.eye(robot.nv)).T
        self.drives = np.array([drive[1:] for drive in robot.drives], dtype=float).T
        self.limits = np.array([joint.limits[:2] for joint in robot.coordinates]).T

    def tau(self, step, t, q, qd):
        torque, case = self.case.torque, self.case
        if torque is None:
            return np.zeros(len(qd))
        if isinstance(torque, np.ndarray):
            return case.at(torque, (len(qd),), step, self.run)
        if not isinstance(torque, armlet.Function):
            return 0.2 - 0.1 * q - 0.05 * qd + 0.1 * np.sin(9 * t)
        return torque.__wrapped__(q, qd, t, *self.values(step))

    def values(self, step):
        return [
            self.case.at(x, self.case.shapes[name], step, self.run)
            for name, x in self.case.arguments.items()
        ]

    def forces(self, step, t, q, qd, tau=None):
        case = self.case
        total = self.tau(step, t, q, qd) if tau is None else tau
        if case.friction:
            model = Friction() if case.friction is True else case.friction
            viscous, coulomb, offset = self.drives
            v = self.K @ qd
            slow = np.exp(-((v / model.stribeck_velocity) ** 2))
            dry = coulomb + np.array(model.stribeck) * slow
            total = total - self.K.T @ (viscous * v + dry * np.tanh(v / model.velocity) + offset)
        if case.stops:
            low, high = self.limits
            deep = np.maximum(low - q, 0) - np.maximum(q - high, 0)
            share = np.minimum(np.abs(deep) / case.stops.depth, 1)
            total = total + case.stops.stiffness * deep - case.stops.damping * share * qd
        return total

    def acceleration(self, step, t, q, qd, tau=None):
        H, b = self.robot.inertia_matrix(q), self.robot.bias(q, qd)
        return np.linalg.solve(H, self.forces(step, t, q, qd, tau) - b)

    def march(self):
        """The initial state and the states after each step, and the sum of the costs."""
        case, h = self.case, self.case.dt
        q, qd = case.q0[self.run], case.qd0[self.run]
        states, past, cost = [(q, qd)], [], 0.0
        for step in range(case.steps):
            t = step * h
            if case.price is not None:
                cost += case.price.__wrapped__(q, qd, t, *self.values(step))
            python = callable(case.torque) and not isinstance(case.torque, armlet.Function)
            held = self.tau(step, t, q, qd) if python and not case.adaptive else None

            def slope(t, q, qd, step=step, held=held):
                return np.array([qd, self.acceleration(step, t, q, qd, held)])

            x = np.array([q, qd])
            past.insert(0, slope(t, q, qd))
            if case.method == "semi_implicit_euler":
                qd = qd + h * past[0][1]
                q = q + h * qd
            elif case.method == "adams_bashforth4" and step > 2:
                weights = np.array([55, -59, 37, -9]) / 24
                q, qd = x + h * np.tensordot(weights, past[:4], 1)
            elif case.method in ("rk4", "adams_bashforth4"):
                q, qd = rk4(slope, t, x, h)
            elif case.method == "variational_midpoint":
                q, qd = self.midpoint(step, t, q, qd, h, held)
            else:
                for k in range(SUBSTEPS):
                    x = rk4(slope, t + k * h / SUBSTEPS, x, h / SUBSTEPS)
                q, qd = x
            states.append((q, qd))
        return np.array(states), cost

    def midpoint(self, step, t, q, qd, h, held):
        H = self.robot.inertia_matrix

        def force(q, v):
            e = 1e-6 * np.eye(len(q))
            by_q = [v @ (H(q + x) - H(q - x)) @ v / 4e-6 for x in e]
            return (
                np.array(by_q)
                - self.robot.gravity_torque(q)
                + self.forces(step, t + h / 2, q, v, held)
            )

        p, v = H(q) @ qd, qd
        for _ in range(6):
            middle = q + h / 2 * v
            v = np.linalg.solve(H(middle), p + h / 2 * force(middle, v))
        F = force(q + h / 2 * v, v)
        return q + h * v, np.linalg.solve(H(q + h * v), p + h * F)


def rk4(slope, t, x, h):
    a = slope(t, *x)
    b = slope(t + h / 2, *(x + h / 2 * a))
    c = slope(t + h / 2, *(x + h / 2 * b))
    d = slope(t + h, *(x + h * c))
    return x + h / 6 * (a + 2 * b + 2 * c + d)


BARS = {
    "semi_implicit_euler": 1e-9,
    "rk4": 1e-9,
    "adams_bashforth4": 1e-9,
    "variational_midpoint": 1e-6,
}
"""Integrator that the loop also implements -> largest allowed error of a state."""


def check_states(case, found, states, rows):
    """Compare rows with the loop's states, to the accuracy of the method."""
    if not np.isfinite(states).all() or np.abs(states).max() > LARGE:
        return
    moved = np.ptp(states, axis=0).max()
    bar = BARS.get(case.method, 1e-6 if case.adaptive else 0.1 * moved + 1e-6)
    if case.method not in BARS and case.friction is True:
        bar = max(bar, 0.3 * moved + 1e-6)  # the loop is inaccurate for such stiff friction
    error = np.abs(found - states[rows]).max(initial=0)
    assert error <= bar * max(1, np.abs(states).max()), f"off by {error:.1e}: {about(case)}"


def about(case):
    return (
        f"{case.method}, dt {case.dt}, {case.steps} steps, {case.runs} roll-outs, torque "
        f"{case.torque!r}, friction {case.friction}, arguments {case.arguments}"
    )


# ------------------------------------------------------------------ results


def check_simulation(case, run, options, said):
    loop = Loop(case)
    states, _ = loop.march()
    every, steps = case.every, case.steps
    rows = sorted({*range(0, steps + 1, every), steps})
    t = case.dt * np.array(rows)
    event = options["events"] and case.happens and case.event <= t[-1]
    if event:
        assert [x.name for x in run.events] == ["on"]
        assert abs(run.events[0].t - case.event) < 1e-9
        if case.ends:
            rows, t = [k for k in rows if k * case.dt < run.t[-1]], t[t < run.t[-1]]
            assert run.ended == f"'on' at {run.t[-1]:g} s"
            run = run[:-1]
    else:
        assert not run.events
        if run.ended:
            assert said, "an early end without a warning"
            return
    assert np.abs(run.t - t).max(initial=0) < 1e-12
    for name in ("q", "qd", "qdd", "tau", "energy"):
        assert np.isfinite(getattr(run, name)).all(), name
    check_states(case, np.stack([run.q, run.qd], 1), states, rows)
    for k, step in enumerate(np.minimum(rows, steps - 1).tolist()):
        now = run.t[k], run.q[k], run.qd[k]
        held = callable(case.torque) and not isinstance(case.torque, armlet.Function)
        if held and not case.adaptive and rows[k] == steps and k and every > 1:
            continue
        tau = loop.tau(step, *now)
        assert np.abs(run.tau[k] - tau).max() < 1e-9, f"tau: {about(case)}"
        qdd = loop.acceleration(step, *now, tau)
        assert np.abs(run.qdd[k] - qdd).max() < 1e-8 * max(1, np.abs(qdd).max()), about(case)
        if "more" in run.recorded:
            more = np.sum(run.tau[k] * run.qdd[k] + run.q[k])
            more += sum(0.3 * np.sum(x) for x in loop.values(step))
            assert abs(run.recorded["more"][k] - more) < 1e-8 * max(1, abs(more)), about(case)


def check_roll_outs(case, found, options, said):
    loops = [Loop(case, run).march() for run in range(case.runs)]
    reduced = case.price is not None
    rows = sorted({*range(case.every, case.steps + 1, case.every), case.steps})
    rows = [case.steps] if reduced else rows
    assert found.q.shape == (len(rows), case.runs, case.robot.nq)
    assert np.abs(found.t - case.dt * np.array(rows)).max() < 1e-12
    assert (found.cost is not None) == reduced
    assert found.finite.all() or said, "roll-outs that are not finite without a warning"
    for run, (states, cost) in enumerate(loops):
        if not (is_finite := np.isfinite(states).all()) or np.abs(states).max() < LARGE:
            assert found.finite[run] == is_finite, f"roll-out {run}: {about(case)}"
        if not is_finite:
            continue
        trajectory = np.stack([found.q[:, run], found.qd[:, run]], 1)
        check_states(case, trajectory, states, rows)
        if reduced and np.abs(states).max() < LARGE:
            loose = 1e-6 if case.method in BARS else 0.1 * np.ptp(states, axis=0).max() + 1e-5
            assert abs(found.cost[run] - cost) <= loose * max(1, abs(cost)), f"cost: {about(case)}"
    if ("gradient" in options or "tangents" in options) and found.finite.all():
        check_derivatives(case, found)


def check_derivatives(case, found):
    """Compare derivatives with central differences of loops, along one tangent of all variables."""
    if case.method not in BARS:
        return
    moved, ends = case.moved, []
    for sign in (1, -1):
        before = [(where, name, where[name]) for where, name, _ in moved.values()]
        for where, name, tangent in moved.values():
            where[name] = where[name] + sign * 1e-5 * tangent
        loops = [Loop(case, run).march() for run in range(case.runs)]
        for where, name, value in before:
            where[name] = value
        ends.append(([states[-1] for states, _ in loops], [cost for _, cost in loops]))
    (plus, plus_cost), (minus, minus_cost) = ends
    if max(np.abs(plus).max(), np.abs(minus).max()) > LARGE:
        return
    slopes = (np.array(plus) - np.array(minus)) / 2e-5
    by_cost = (np.array(plus_cost) - np.array(minus_cost)) / 2e-5
    if found.tangents is not None:
        trajectory = np.stack([found.tangents.q[-1], found.tangents.qd[-1]], 1)
        close(trajectory, slopes, case)
        if found.cost is not None:
            close(found.tangents.cost, by_cost, case)
    else:
        total = sum(np.sum(found.gradient[name] * x[2]) for name, x in moved.items())
        close(total, by_cost.sum(), case)


def close(found, expected, case):
    error = np.abs(found - expected).max()
    assert error <= 1e-4 * max(1, np.abs(expected).max()), (
        f"slope off by {error:.1e}: {about(case)}"
    )
