"""The command `armlet demo`."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from armlet._support.files import check_writable, expand_user, write
from armlet.api import Robot, function, minimal_parameters, trace
from armlet.cli.output import Table, Terminal, progress
from armlet.cli.reference_values import by_definition, deviation, random_states
from armlet.cli.robot_options import Choice, FrameName, takes_robot
from armlet.cli.timing import ARMLET, LIBRARIES, NUMPY, PINOCCHIO, ROWS, Times, measure, pinocchio
from armlet.dynamics import QUANTITIES
from armlet.errors import ArmletError, visible
from armlet.graph import Count
from armlet.identification import Identified, Log, TorqueModel, identify
from armlet.identification.report import torques, verdict
from armlet.literature import Total, totals
from armlet.plotting import (
    COLOURS,
    FAINT,
    INK,
    SHADE,
    Figure,
    figure_html,
    graph_objects,
    page,
    panels,
)
from armlet.simulation import Friction, Trajectory, simulate
from armlet.version import __version__

Array = NDArray[np.float64]
STATES = 20
"""Number of random states at which results are compared with the definition."""
COUNTED = (
    "inverse_dynamics",
    "inertia_matrix",
    "bias",
    "gravity_torque",
    "forward_dynamics",
    "friction_torque",
    "forward_kinematics",
    "jacobian",
    "energy",
)
"""Quantities for which the search for the cheapest program takes only seconds."""
TIMED, ROUNDS = ("inverse_dynamics", "inertia_matrix", "forward_dynamics"), 3
PUBLISHED_JOINTS = 6
"""Number of joints for which published totals are compared."""
DURATION, DT, WAVES, SEED = 10.0, 1e-3, 8, 8
"""Duration and time step of the motion in s, number of harmonics, and random seed."""
REACH = {"R": 1.2, "P": 0.3}
"""Maximum amplitude by joint type, in rad or m; joint limits may reduce the amplitude."""
SHARE = 0.8
"""Maximum fraction of the position range and of the velocity limit that the motion uses."""
RATE = 30.0
"""Bandwidth of the joint controllers, in rad/s."""
NOISE = 0.02
"""Standard deviation of the torque noise, relative to each torque's root mean square."""
HELD_OUT = 0.3
"""Fraction of the log, at the end, that is used for validation only."""
MOST_JOINTS = 12
"""Arms with more joints are not identified, since identification would take too long."""
DRAWN = 25
"""The figure of the motion shows every `DRAWN`-th row."""
LIBRARY_COLOURS = {ARMLET: COLOURS[0], PINOCCHIO: COLOURS[1], NUMPY: FAINT}
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "star")
MARGIN = 1.3
"""Factor by which axes extend beyond the smallest and the largest operation count."""
WAYS = ("call", "batch")
COUNTS = ("multiplications", "additions", "deviation")
LEGEND = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
"""A legend below the figure, at any width of the page."""


@takes_robot("puma560")
def demo(
    choice: Choice,
    frame: FrameName = None,
    html: Annotated[
        Path, typer.Option(help="The HTML page to write; needs plotly.", metavar="FILE")
    ] = Path("demo.html"),
) -> None:
    """Count and time the operations of an arm, simulate the arm, and identify its parameters.

    Example: armlet demo
    """
    path = expand_user(html)
    check_writable(path)
    results = collect(choice.load(frame))
    try:
        write(path, demo_page(results))
        where = str(path)
    except ArmletError as error:
        where = f"none ({error})"
    _print(results, where)


# ------------------------------------------------------------------ operations and times


class Counted(NamedTuple):
    """Operation count of a quantity, and deviation of its results from the definition."""

    operations: Count
    deviation: float | None


class Published(NamedTuple):
    """A published total, its printed count, and armlet's count under the same conditions."""

    total: Total
    printed: Count
    counted: Count


@dataclass(frozen=True)
class Demo:
    """Results of the demonstration, printed in the terminal and shown on the page."""

    arm: Robot
    counted: dict[str, Counted]
    published: list[Published]
    times: dict[str, Times]
    run: Trajectory
    identified: Identified | None
    errors: Array
    """Error of each identified parameter, divided by the parameter's standard deviation."""
    left_out: list[str]
    """Names of results that were left out, each with the reason."""

    @property
    def below(self) -> int:
        """Number of published totals that exceed armlet's count under the same conditions."""
        return sum(x.counted.total < x.printed.total for x in self.published)

    @property
    def near(self) -> int:
        """Number of identified parameters within three standard deviations of the true values."""
        return int((np.abs(self.errors) < 3).sum())


def collect(arm: Robot) -> Demo:
    """Compute all results of the demonstration."""
    arm._require_vector_space("the demonstration")
    names = [name for name in COUNTED if arm.tool or "frame" not in QUANTITIES[name].options]
    counted = {}
    for name in progress(names, "compiling"):
        states = random_states(arm, name, STATES)
        off = deviation(by_definition(arm, name, states), getattr(arm, name)(*states))
        counted[name] = Counted(trace(arm, name).count(), off)
    rigid = arm.without_drives()  # as in Pinocchio's model
    peer, left_out = pinocchio(rigid)
    times = {
        name: measure(rigid, name, ROUNDS, peer, numpy=True) for name in progress(TIMED, "timing")
    }
    run = motion(arm)
    identified, errors = None, np.zeros(0)
    if arm.nv > MOST_JOINTS or run.ended:
        left_out.append(f"identification: {run.ended or f'more than {MOST_JOINTS} joints'}")
    else:
        try:
            identified = identification(arm, run)
            errors = _errors(arm, identified)
        except ArmletError as error:
            left_out.append(f"identification: {error}")
    n = PUBLISHED_JOINTS
    chosen = [total for total in totals() if n in total.n]
    published = [
        Published(total, total.printed_count(n), total.count(n))
        for total in progress(chosen, "counting")
    ]
    return Demo(arm, counted, published, times, run, identified, errors, left_out)


# ------------------------------------------------------------------ a motion and its log


def plan(arm: Robot) -> list[Array]:
    """Return q, qd and qdd of a motion that starts at rest and stays within the joint limits."""
    k = np.arange(1, WAVES + 1)
    size = np.random.default_rng(SEED).normal(size=(WAVES, arm.nv)) / k[:, None]
    w, t = 2 * np.pi / DURATION * k, np.arange(0, DURATION, DT)[:, None]
    q, qd, qdd = -np.cos(w * t) @ size, w * np.sin(w * t) @ size, w**2 * np.cos(w * t) @ size
    middle, reach = np.zeros(arm.nv), np.empty(arm.nv)
    for i, joint in enumerate(arm.coordinates):
        lower, upper, velocity, _ = joint.limits
        reach[i] = min(REACH.get(joint.letter, 0.3), SHARE * (upper - lower) / 2)
        if np.isfinite([lower, upper]).all():
            middle[i] = (lower + upper) / 2
        fastest = np.abs(qd[:, i]).max() / (np.ptp(q[:, i]) / 2)
        reach[i] = min(reach[i], SHARE * velocity / fastest)
    scale = reach / (np.ptp(q, axis=0) / 2)
    centre = (q.max(axis=0) + q.min(axis=0)) / 2
    return [middle + scale * (q - centre), scale * qd, scale * qdd]


def motion(arm: Robot) -> Trajectory:
    """Simulate the arm with friction; its joint controllers track the motion of `plan`."""
    q, qd, qdd = plan(arm)
    inertia = np.diagonal(arm.inertia_matrix(q[::100]), axis1=1, axis2=2).min(axis=0)
    stiffness, damping = RATE**2 * inertia, 2 * RATE * inertia

    @function(arm, target=arm.nq, velocity=arm.nv, feedforward=arm.nv)
    def follow(q: Array, qd: Array, target: Array, velocity: Array, feedforward: Array) -> Array:
        error = arm.difference(q, target)
        tau: Array = feedforward + stiffness * error + damping * (velocity - qd)
        return tau

    feedforward = arm.inverse_dynamics(q, qd, qdd) + arm.passive_torque(q, qd)
    return simulate(
        arm,
        q[0],
        torque=follow,
        arguments={"target": q, "velocity": qd, "feedforward": feedforward},
        duration=DURATION,
        dt=DT,
        method="semi_implicit_euler",
    )


def identification(arm: Robot, run: Trajectory) -> Identified:
    """Identify the arm from `run` with noise added to the torques; validate on the end of `run`."""
    size = np.sqrt((run.tau**2).mean(axis=0))
    noise = NOISE * size * np.random.default_rng(SEED).normal(size=run.tau.shape)
    log = Log(run.t, run.q, run.tau + noise, joints=run.joints, name="the motion above")
    model = TorqueModel(rotors=True, friction=Friction())
    rigid = arm.without_drives()
    return identify(rigid, log, model=model, physical=False, validation=HELD_OUT)


def _errors(arm: Robot, identified: Identified) -> Array:
    parameters = minimal_parameters(arm, rotors=True, friction=True)
    by_name = dict(zip(parameters.names, parameters.values, strict=True))
    true = np.array([float(by_name.get(name, np.nan)) for name in identified.names])
    deviations = np.maximum(identified.deviations, np.finfo(float).tiny)
    return np.asarray((identified.values - true) / deviations)


# ------------------------------------------------------------------ in the terminal


def _print(demo: Demo, where: str) -> None:
    console = Terminal()
    console.print(f"{demo.arm!r}")
    if demo.arm.source:
        console.print(f"numbers from {demo.arm.source}", style="dim")
    published = (
        f"armlet takes fewer operations than {demo.below} of the {len(demo.published)} counts "
        f"that are published for arms with {PUBLISHED_JOINTS} joints."
    )
    caption = f"compiled code at {STATES} random states, compared with the definition"
    operations = Table(["quantity"], COUNTS, title="operations", caption=caption)
    for row in _count_rows(demo):
        operations.add_row(*row)
    console.show(operations, _speed(demo), published)
    console.print()
    run, identified = demo.run, demo.identified
    console.print(
        f"{run.t[-1]:g} s of motion with friction and feedback, {len(run) - 1:,} steps: the "
        f"fastest joint reaches {np.abs(run.qd).max():.3g} rad/s or m/s."
    )
    if identified is not None:
        console.print(
            f"From its log with {NOISE:.0%} noise in the torques {len(identified.names)} "
            f"parameters are identified, {demo.near} within three deviations of the true ones. "
            f"{verdict(identified)}"
        )
    console.notes(f"left out: {line}" for line in demo.left_out)
    console.show(f"page: {where}")


def _count_rows(demo: Demo) -> list[list[str]]:
    """Return a row per quantity: name, multiplications, additions, deviation from definition."""
    return [
        [name, str(count.M), str(count.A), "" if off is None else f"{off:.0e}" if off else "0"]
        for name, (count, off) in demo.counted.items()
    ]


def _speed(demo: Demo) -> Table:
    libraries = [x for x in LIBRARIES if any(x in times.call for times in demo.times.values())]
    caption = f"batches of {ROWS:,} states; NumPy runs the program that armlet prints as Python"
    table = Table(["quantity", ""], libraries, title="nanoseconds per state", caption=caption)
    for way in WAYS:
        for quantity, times in demo.times.items():
            seconds = getattr(times, way)
            cells = (f"{1e9 * seconds[x]:,.0f}" if x in seconds else "" for x in libraries)
            table.add_row(quantity, way, *cells)
    return table


# ------------------------------------------------------------------ the page


def demo_page(demo: Demo) -> str:
    """Return the HTML of the demonstration's page, which loads nothing from the network."""
    quantity, times = next(iter(demo.times.items()))
    run = demo.run
    fields = {
        "name": _text(demo.arm.name),
        "source": _text(demo.arm.source),
        "version": __version__,
        "left_out": "".join(f"<br>Left out: {_text(line)}" for line in demo.left_out),
        "published": len(demo.published),
        "joints": PUBLISHED_JOINTS,
        "below": demo.below,
        "published_figure": figure_html(published_figure(demo.published)),
        "operations": "".join(
            f"<tr>{''.join(f'<td>{_words(x)}</td>' for x in row)}</tr>\n"
            for row in _count_rows(demo)
        ),
        "quantity": _words(quantity),
        "call": f"{1e9 * times.call[ARMLET]:.0f}",
        "call_ratio": f"{times.call[NUMPY] / times.call[ARMLET]:.0f}",
        "batch": f"{1e9 * times.batch[ARMLET]:.0f}",
        "batch_ratio": f"{times.batch[NUMPY] / times.batch[ARMLET]:.0f}",
        "rows": f"{ROWS:,}",
        "speed_figure": figure_html(speed_figure(demo)),
        "duration": f"{run.t[-1]:g}",
        "steps": f"{len(run) - 1:,}",
        "ended": f" It ended early: {_text(run.ended)}." if run.ended else "",
        "motion_figure": figure_html(run[::DRAWN].plot()),
        "identification": _identification_html(demo),
    }
    body = Template(_file("demo.html")).substitute(fields)
    return page(f"armlet: {visible(demo.arm.name)}", body, _file("demo.css"))


def _file(name: str) -> str:
    return files("armlet.cli.commands").joinpath(name).read_text(encoding="utf-8")


def _text(words: str) -> str:
    return escape(visible(words))


def _words(quantity: str) -> str:
    return quantity.replace("_", " ")


def _identification_html(demo: Demo) -> str:
    result = demo.identified
    if result is None:
        return "<p>This was left out: the last lines of the page say why.</p>"
    return (
        f"<p>From this motion with {NOISE:.0%} noise in the torques, {len(result.names)} "
        f"parameters of the arm are identified; {demo.near} are within three deviations of the "
        f"true ones.</p>\n{figure_html(parameter_figure(result, demo.errors))}"
        f"{figure_html(torques(result, height=125))}"
        '<p class="small">Data that were held out are shaded.</p>\n'
        f'<p class="small">{_text(verdict(result))}</p>'
    )


# ------------------------------------------------------------------ figures


def published_figure(rows: Sequence[Published]) -> Figure:
    """Draw armlet's counts against the published totals, with one mark per total."""
    graphs = graph_objects()
    figure = panels(height=400)
    counted = [row.counted.total for row in rows]
    sizes = [*counted, *(row.printed.total for row in rows)]
    ends = [min(sizes) / MARGIN, max(sizes) * MARGIN]
    line = {"color": FAINT, "width": 1.2}
    as_many = graphs.Scatter(
        x=ends, y=ends, mode="lines", line=line, name="as many as printed", hoverinfo="skip"
    )
    figure.add_trace(as_many)
    for k, quantity in enumerate(dict.fromkeys(row.total.quantity for row in rows)):
        own = [row for row in rows if row.total.quantity == quantity]
        marks = graphs.Scatter(
            x=[row.printed.total for row in own],
            y=[row.counted.total for row in own],
            mode="markers",
            name=_words(quantity),
            marker={"color": COLOURS[k % len(COLOURS)], "size": 8, "symbol": MARKS[k % 6]},
            hovertext=[f"{row.total.method}, {row.total.work}" for row in own],
            hovertemplate="%{hovertext}<br>printed %{x}, armlet %{y}<extra></extra>",
        )
        figure.add_trace(marks)
    ticks = {"type": "log", "tickvals": [300, 1000, 3000, 10000, 30000, 100000]}
    span = np.log10([min(counted) / MARGIN, max(counted) * MARGIN])
    figure.update_xaxes(
        title_text="operations printed in the literature", range=np.log10(ends), **ticks
    )
    figure.update_yaxes(title_text="operations of armlet", range=span, **ticks)
    result: Figure = figure.update_layout(legend=LEGEND)
    return result


def speed_figure(demo: Demo) -> Figure:
    """Draw the times per state of each library, in one call and in a batch, as bars."""
    titles = ["one call", f"batch of {ROWS:,}"]
    figure = panels(2, 1, height=600, subplot_titles=titles, vertical_spacing=0.17)
    names = [name.replace("_", "<br>") for name in demo.times]
    for row, way in enumerate(WAYS, 1):
        seconds: list[dict[str, float]] = [getattr(times, way) for times in demo.times.values()]
        most = max(x for each in seconds for x in each.values())
        for library, colour in LIBRARY_COLOURS.items():
            values = [1e9 * each[library] if library in each else None for each in seconds]
            bars = graph_objects().Bar(
                y=names,
                x=values,
                orientation="h",
                name=library,
                legendgroup=library,
                showlegend=row == 1,
                visible=any(values),
                marker={"color": colour, "line_width": 0},
                text=[None if x is None else f"{x:,.0f}" for x in values],
                textposition="outside",
                textfont={"color": INK},
                cliponaxis=False,
                hovertemplate=library + ": %{x:.0f} ns<extra></extra>",
            )
            figure.add_trace(bars, row, 1)
        span = [0.6, np.log10(1e9 * most) + 0.75]
        figure.update_xaxes(type="log", range=span, dtick=1, tickangle=0, row=row, col=1)
    figure.update_xaxes(title_text="nanoseconds per state", row=2, col=1)
    figure.update_yaxes(autorange="reversed", ticks="")
    result: Figure = figure.update_layout(bargap=0.25, legend=LEGEND)
    return result


def parameter_figure(result: Identified, errors: Array) -> Figure:
    """Draw the errors of the identified parameters, in standard deviations."""
    figure = panels(height=230)
    estimates = zip(result.names, result.values, result.deviations, strict=True)
    marks = graph_objects().Scatter(
        x=np.arange(1, len(errors) + 1),
        y=np.clip(errors, -6, 6),
        mode="markers",
        marker={"color": COLOURS[0], "size": 7},
        hovertext=[f"{_text(name)}: {x:.4g}, deviation {s:.2g}" for name, x, s in estimates],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    figure.add_trace(marks)
    figure.add_hrect(y0=-3, y1=3, fillcolor=SHADE, opacity=0.25, line_width=0)
    figure.update_yaxes(title_text="error / deviation", range=[-6, 6], dtick=3)
    drawn: Figure = figure.update_xaxes(title_text="parameter")
    return drawn
