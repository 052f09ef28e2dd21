"""The HTML report of an identification: tables and figures on one page, readable offline."""

from collections.abc import Container, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armlet.algebra import point_inertia, symmetric
from armlet.errors import clip, listing
from armlet.identification.estimation.estimators import Array
from armlet.plotting import COLOURS, INK, SHADE, figure_html, graph_objects, panels, plain
from armlet.plotting import page as page_of
from armlet.version import __version__

if TYPE_CHECKING:
    from armlet.identification.result import Identified

POINTS = 1500
"""The largest number of points of a plotted curve."""
ERROR, WORST, CONDITION = 10.0, 20.0, 1000.0
"""The limits of the checks: error of all torques and of the worst joint, in %; condition number."""
MEASURED, PREDICTED, RESIDUAL, HELD, OTHER = SHADE, COLOURS[0], COLOURS[3], COLOURS[1], COLOURS[2]


class Check(NamedTuple):
    """A check of an identification: a clause with a value and its limit, and whether it passed."""

    what: str
    passed: bool


def checks(result: "Identified") -> list[Check]:
    """Return the checks of torque errors, condition number, rank, unused torques and bodies."""
    held = result.fits.get(f"validation, {result.solution}")
    about, fit = "the data used", result.fits[result.solution]
    if held is not None:
        about, fit = "data held out", held
    worst = int(np.argmax(fit.joints))
    error, joint = fit.joints[worst], clip(result.regressor.robot.joint_names[worst])
    rank, count = result.estimate.rank, len(result.names)
    torques = f"torques of {about} are met to {fit.whole:.2f} % (limit {ERROR:g} %)"
    of_worst = f"torques of the worst joint, {joint}, are met to {error:.2f} % (limit {WORST:g} %)"
    condition = f"the condition number is {result.condition:.0f} (limit {CONDITION:g})"
    every = [
        Check(torques, fit.whole <= ERROR),
        Check(of_worst, bool(error <= WORST)),
        Check(condition, result.condition <= CONDITION),
        Check(f"the motion determines {rank} of {count} parameters", rank == count),
    ]
    if result.unused:
        every.append(Check(f"no torque of joint {listing(result.unused)} is used", False))
    if result.standard is not None:
        every.append(Check("every body is physical", result.is_consistent))
    return every


def verdict(result: "Identified") -> str:
    """Return one sentence that states whether all checks passed, or which checks failed."""
    every = checks(result)
    failed = [check.what for check in every if not check.passed]
    if not failed:
        return f"All checks passed: {', '.join(check.what for check in every)}."
    return f"{len(failed)} of {len(every)} checks failed: {', '.join(failed)}."


def page(result: "Identified") -> str:
    """Return the report as an HTML page."""
    robot = result.regressor.robot
    sections = {
        "How well torques are met": _fits(result),
        "Measured and predicted torques": _torques(result),
        "Residuals": _residuals(result),
        "Parameters": _parameters(result) + _gains(result),
        "Bodies": _bodies(result),
        "Excitation": _excitation(result),
        "Data": _data(result),
    }
    body = "".join(f"<h2>{escape(title)}</h2>\n{text}\n" for title, text in sections.items())
    mark = "good" if all(check.passed for check in checks(result)) else "bad"
    text = (
        f"<h1>{escape(robot.name)}: identified parameters</h1>\n"
        f'<p class="verdict {mark}">{escape(verdict(result))}</p>\n{body}'
        f'<p class="small">armlet {__version__}</p>\n'
    )
    return page_of(robot.name, text, STYLE)


STYLE = f"""
body {{ max-width: 1000px; margin: 2em auto; padding: 0 1em; }}
h1, h2 {{ font-weight: 600; }} h2 {{ margin-top: 2em; border-bottom: 1px solid var(--grid); }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; }} td, th {{ padding: 0.2em 0.8em; text-align: right; }}
td:first-child, th:first-child {{ text-align: left; }}
tr {{ border-bottom: 1px solid var(--grid); }}
.verdict {{ padding: 0.8em 1em; border-left: 6px solid; font-size: 1.1em; }}
.good {{ border-color: {COLOURS[2]}; }} .bad {{ border-color: {COLOURS[3]}; }}
.words td:last-child, .words th:last-child {{ text-align: left; min-width: 16em; }}
.small, .weak {{ color: var(--faint); }} .small {{ font-size: 0.85em; }}
"""


# ------------------------------------------------------------------ tables


def _table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    faint: Container[str] = (),
    words: bool = False,
) -> str:
    """Return an HTML table: rows named in `faint` are grey; `words` left-aligns the last column."""
    lines = ["<tr>" + "".join(f"<th>{escape(x)}</th>" for x in head) + "</tr>"]
    for row in rows:
        mark = ' class="weak"' if row[0] in faint else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>")
    kind = ' class="words"' if words else ""
    return f'<div class="wide"><table{kind}>' + "\n".join(lines) + "</table></div>"


def _fits(result: "Identified") -> str:
    head = ("error in % of the torque", "all joints", *result.regressor.robot.joint_names)
    rows = [
        (name, f"{fit.whole:.2f}", *(f"{x:.2f}" for x in fit.joints))
        for name, fit in result.fits.items()
    ]
    rows += [
        (f"{name}, residuals (Nm, N)", "", *(f"{x:.3g}" for x in fit.residuals))
        for name, fit in result.fits.items()
    ]
    return _table(head, rows)


def _parameters(result: "Identified") -> str:
    expressions = result.regressor.parameters.expressions
    head = ("parameter", "value", "deviation", "%", "essential", "combination")
    relative = 100 * result.deviations / np.maximum(np.abs(result.values), 1e-300)
    figures = zip(result.names, result.values, result.deviations, relative, strict=True)
    rows = []
    for name, x, s, share in figures:
        percent = f"{share:.1f}" if share < 1000 else "> 1000"
        essential = "yes" if name in result.essential else "no"
        sum_of = expressions.get(name, "") if name.endswith("*") else ""
        rows.append((name, f"{x:.5g}", f"{s:.2g}", percent, essential, sum_of))
    text = (
        f"<p>By {result.method}. {len(result.essential)} of {len(result.names)} parameters improve "
        "the fit (F-test, 5 %); the others are faint.</p>"
    )
    return text + _table(head, rows, {*result.names} - {*result.essential}, words=True)


def _gains(result: "Identified") -> str:
    if result.gains is None:
        return ""
    rows = [
        (name, f"{x:.5g}", f"{s:.2g}")
        for name, x, s in zip(result.regressor.robot.joint_names, *result.gains, strict=True)
    ]
    text = "<p>Gains of the drives, torque per unit of what was logged, by the known payload:</p>"
    return text + _table(("joint", "gain", "deviation"), rows)


def _bodies(result: "Identified") -> str:
    if result.standard is None:
        return "<p>Physical bodies were not asked for, or cvxpy is not installed.</p>"
    head = ("body of joint", "mass (kg)", "centre (m)", "principal inertias (kg m²)")
    rows = []
    for joint, body in zip(result.regressor.robot.joints, result.bodies, strict=True):
        m, c = body[9], body[6:9] / body[9]
        I = np.asarray(symmetric(*body[:6]) - point_inertia(m, c), dtype=float)
        principal = ", ".join(f"{x:.3g}" for x in np.linalg.eigvalsh(I))
        rows.append((joint.name, f"{m:.3f}", ", ".join(f"{x:.3f}" for x in c), principal))
    word = "is" if result.is_consistent else "is not"
    text = (
        f"<p>Each body {word} one that matter can form: its pseudo-inertia is positive definite. "
        "What the torques do not determine is as in the prior.</p>"
    )
    return text + _table(head, rows)


def _data(result: "Identified") -> str:
    sections = []
    for k, (run, choices) in enumerate(zip(result.samples, result.choices, strict=False), 1):
        rows = [(str(name), str(value)) for name, value in choices.items()]
        span = f"run {k}, {escape(run.name)}: {run.t[0]:.2f} to {run.t[-1]:.2f} s"
        sections.append(f"<h3>{span}</h3>" + _table(("choice", ""), rows, words=True))
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    return "".join(sections) + (f"<ul>{notes}</ul>" if notes else "")


# ------------------------------------------------------------------ figures


def _figure(count: int, titles: Sequence[str], columns: int = 1, height: int = 170) -> Any:
    rows = -(-count // columns)
    total = 80 + height * rows
    return panels(rows, columns, height=total, subplot_titles=titles, vertical_spacing=60 / total)


def _curve(t: Array, y: Array) -> dict[str, Array]:
    step = -(-len(t) // POINTS)
    return {"x": t[::step], "y": y[::step]}


def _torques(result: "Identified") -> str:
    text = f"Predictions are those of {result.method}. "
    if result.standard is not None:
        text = "Predictions are those of the arm with physical bodies, which files have. Those of "
        text += f"{result.method} are shown by a click on their name. "
    held = "Data held out are shaded." if result.held_out else ""
    return f"<p>{text}{held}</p>" + figure_html(torques(result))


def torques(result: "Identified", height: int = 170) -> Any:
    """Return a Plotly figure of measured and predicted torques; data held out are shaded.

    Predictions and residuals are those of `result.robot`. If there is a second solution, a click on
    its name shows its predictions. The plot of each joint is `height` pixels high.
    """
    graphs, joints = graph_objects(), result.regressor.robot.coordinates
    titles = [f"{plain(x.name)} ({'Nm' if x.type.rotates else 'N'})" for x in joints]
    figure = _figure(len(joints), titles, height=height)
    offset = 0.0
    for k, run in enumerate((*result.samples, *result.held_out)):
        t, measured, predicted = result.compare(run)
        curves = [
            ("measured", measured, MEASURED, 4.0),
            (f"predicted, {result.solution}", predicted, PREDICTED, 1.2),
            ("residual", measured - predicted, RESIDUAL, 1.2),
        ]
        curves += [
            (f"predicted, {name}", result.compare(run, name)[2], OTHER, 1.2)
            for name in result.solutions.keys() - {result.solution}
        ]
        t = t - t[0] + offset
        for i in range(len(joints)):
            for n, (label, y, colour, width) in enumerate(curves):
                trace = graphs.Scatter(
                    **_curve(t, y[:, i]),
                    name=label,
                    legendgroup=label,
                    showlegend=k == 0 and i == 0,
                    line={"color": colour, "width": width},
                    visible=True if n < 3 else "legendonly",
                )
                figure.add_trace(trace, i + 1, 1)
            if k >= len(result.samples):
                shade = {"fillcolor": HELD, "opacity": 0.1, "line_width": 0}
                figure.add_vrect(x0=t[0], x1=t[-1], row=i + 1, col=1, **shade)
        offset = float(2 * t[-1] - t[-2])
    figure.update_xaxes(title_text="time (s)", row=len(joints), col=1)
    return figure


def _residuals(result: "Identified") -> str:
    """Return HTML with a histogram and a spectrum of each joint's residuals divided by noise."""
    from scipy.signal import welch  # which takes as long to load as all of armlet

    graphs = graph_objects()
    figure = _figure(2, ["how often", "spectrum (per Hz)"], columns=2, height=320)
    residuals = []
    for run in result.samples:
        _, measured, predicted = result.compare(run)
        residuals.append((measured - predicted) / result.estimate.noise)
    longest = max(range(len(residuals)), key=lambda k: len(residuals[k]))
    run, size = result.samples[longest], len(residuals[longest])
    rate = run.rate / float(np.median(np.diff(run.indices)))
    for i, name in enumerate(result.regressor.robot.joint_names):
        own = np.concatenate([x[:, i] for x in residuals])
        colour = COLOURS[i % len(COLOURS)]
        counts, edges = np.histogram(own, bins=60, range=(-5, 5), density=True)
        style = {"name": plain(name), "legendgroup": name, "line": {"color": colour, "width": 1.2}}
        middles = (edges[1:] + edges[:-1]) / 2
        figure.add_trace(graphs.Scatter(x=middles, y=counts, **style), 1, 1)
        spectrum = _curve(*welch(residuals[longest][:, i], rate, nperseg=min(size, 512)))
        figure.add_trace(graphs.Scatter(**spectrum, **style, showlegend=False), 1, 2)
    x = np.linspace(-5, 5, 101)
    bell = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    normal = {"color": INK, "dash": "dot", "width": 1}
    figure.add_trace(graphs.Scatter(x=x, y=bell, name="normal", line=normal), 1, 1)
    figure.update_xaxes(title_text="residual over noise", row=1, col=1)
    figure.update_xaxes(title_text="frequency (Hz)", row=1, col=2)
    figure.update_yaxes(type="log", row=1, col=2)
    return figure_html(figure)


def _excitation(result: "Identified") -> str:
    graphs, names = graph_objects(), result.regressor.robot.joint_names
    figure = _figure(2, ["position (rad, m)", "velocity (rad/s, m/s)"], height=220)
    run = max(result.samples, key=lambda x: len(x.t))
    for i, name in enumerate(names):
        line = {"color": COLOURS[i % len(COLOURS)], "width": 1.2}
        for row, y in enumerate((run.q, run.qd), 1):
            style = {"name": plain(name), "legendgroup": name, "showlegend": row == 1, "line": line}
            figure.add_trace(graphs.Scatter(**_curve(run.t, y[:, i]), **style), row, 1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    text = (
        f"<p>Condition number of the regressor: {result.condition:.1f}; {result.estimate.rank} of "
        f"{len(result.names)} combinations are determined.</p>"
    )
    return text + figure_html(figure)
