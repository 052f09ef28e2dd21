"""The report of an identification: one page with tables and figures, that needs no network."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from armlet.errors import shown
from armlet.identification.estimation.factors import Array
from armlet.identification.findings import Findings
from armlet.identification.preprocessing.samples import Samples
from armlet.plotting import COLOURS, INK, SHADE, graph_objects, panels, part, plain
from armlet.plotting import page as page_of
from armlet.version import __version__

POINTS = 1500
"""How many points a curve has at most."""
ERROR, WORST, CONDITION = 10.0, 20.0, 1000.0
"""The limits of the verdict: errors of all torques and of any joint's in %, condition number."""
MEASURED, PREDICTED, RESIDUAL, HELD, OTHER = SHADE, COLOURS[0], COLOURS[3], COLOURS[1], COLOURS[2]


class Check(NamedTuple):
    """One thing that the verdict looks at."""

    what: str
    passed: bool


def checks(found: Findings) -> list[Check]:
    """What the verdict is made of."""
    held = f"validation, {found.solution}"
    about, fit = "the data used", found.fits[found.solution]
    if held in found.fits:
        about, fit = "data held out", found.fits[held]
    worst = int(np.argmax(fit.joints))
    error, joint = fit.joints[worst], shown(_joints(found)[worst])
    rank, count = found.estimate.rank, len(found.names)
    results = [
        Check(
            f"torques of {about} are met to {fit.whole:.2f} % (limit {ERROR:g} %)",
            fit.whole <= ERROR,
        ),
        Check(
            f"torques of the worst joint, {joint}, are met to {error:.2f} % (limit {WORST:g} %)",
            bool(error <= WORST),
        ),
        Check(
            f"the condition number is {found.condition:.0f} (limit {CONDITION:g})",
            found.condition <= CONDITION,
        ),
        Check(f"the motion determines {rank} of {count} parameters", rank == count),
    ]
    if found.standard is not None:
        results.append(Check("every body is physical", found.is_consistent))
    return results


def verdict(found: Findings) -> str:
    """The verdict in one sentence."""
    results = checks(found)
    failed = [check.what for check in results if not check.passed]
    if not failed:
        return f"All checks passed: {', '.join(check.what for check in results)}."
    return f"{len(failed)} of {len(results)} checks failed: {', '.join(failed)}."


def page(found: Findings) -> str:
    """The whole page."""
    robot = found.model.parameters.model
    sections = {
        "How well torques are met": _fits(found),
        "Measured and predicted torques": _torques(found),
        "Residuals": _residuals(found),
        "Parameters": _parameters(found) + _gains(found),
        "Bodies": _bodies(found),
        "Excitation": _excitation(found),
        "Data": _data(found),
    }
    body = "".join(f"<h2>{escape(title)}</h2>\n{text}\n" for title, text in sections.items())
    good = all(check.passed for check in checks(found))
    mark = "good" if good else "bad"
    name = escape(robot.name)
    text = (
        f"<h1>{name}: identified parameters</h1>\n"
        f'<p class="verdict {mark}">{escape(verdict(found))}</p>\n{body}'
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
    weak: Sequence[bool] = (),
    words: bool = False,
) -> str:
    """A table, some rows faint, with words or numbers in the last column."""
    faint = iter(weak)
    lines = ["<tr>" + "".join(f"<th>{escape(x)}</th>" for x in head) + "</tr>"]
    for row in rows:
        mark = ' class="weak"' if next(faint, False) else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>")
    kind = ' class="words"' if words else ""
    return f'<div class="wide"><table{kind}>' + "\n".join(lines) + "</table></div>"


def _joints(found: Findings) -> list[str]:
    return [joint.name for joint in found.model.parameters.model.coordinates]


def _fits(found: Findings) -> str:
    head = ("error in % of the torque", "all joints", *_joints(found))
    rows = [
        (name, f"{fit.whole:.2f}", *(f"{x:.2f}" for x in fit.joints))
        for name, fit in found.fits.items()
    ]
    rows += [
        (f"{name}, residuals (Nm, N)", "", *(f"{x:.3g}" for x in fit.rest))
        for name, fit in found.fits.items()
    ]
    return _table(head, rows)


def _parameters(found: Findings) -> str:
    expressions = found.model.parameters.expressions
    head = ("parameter", "value", "deviation", "%", "essential", "made of")
    relative = 100 * found.deviations / np.maximum(np.abs(found.values), 1e-300)
    rows, weak = [], []
    for name, x, s, share in zip(
        found.names, found.values, found.deviations, relative, strict=True
    ):
        essential = name in found.essential
        percent = f"{share:.1f}" if share < 1000 else "> 1000"
        made = expressions[name] if name.endswith("*") and name in expressions else ""
        rows.append((name, f"{x:.5g}", f"{s:.2g}", percent, "yes" if essential else "no", made))
        weak.append(not essential)
    text = (
        f"<p>By {found.way}. {len(found.essential)} of {len(found.names)} parameters improve the "
        "fit (F-test, 5 %); the others are faint.</p>"
    )
    return text + _table(head, rows, weak, words=True)


def _gains(found: Findings) -> str:
    if found.gains is None:
        return ""
    rows = [
        (name, f"{x:.5g}", f"{s:.2g}")
        for name, x, s in zip(_joints(found), *found.gains, strict=True)
    ]
    text = "<p>Gains of the drives, torque per unit of what was logged, by the known payload:</p>"
    return text + _table(("joint", "gain", "deviation"), rows)


def _bodies(found: Findings) -> str:
    if found.standard is None:
        return "<p>Physical bodies were not asked for, or cvxpy is not installed.</p>"
    head = ("body of joint", "mass (kg)", "centre (m)", "principal inertias (kg m²)")
    rows = []
    for joint, body in zip(found.model.parameters.model.joints, found.bodies, strict=True):
        m, c = body[9], body[6:9] / body[9]
        xx, xy, xz, yy, yz, zz = body[:6]
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        I = J - m * (c @ c * np.eye(3) - np.outer(c, c))
        principal = ", ".join(f"{x:.3g}" for x in np.linalg.eigvalsh(I))
        rows.append((joint.name, f"{m:.3f}", ", ".join(f"{x:.3f}" for x in c), principal))
    word = "is" if found.is_consistent else "is not"
    text = (
        f"<p>Each body {word} one that matter can form: its pseudo-inertia is positive definite. "
        "What the torques do not determine is as in the prior.</p>"
    )
    return text + _table(head, rows)


def _data(found: Findings) -> str:
    parts = []
    for k, (run, choices) in enumerate(zip(found.samples, found.choices, strict=False), 1):
        rows = [(str(name), str(value)) for name, value in choices.items()]
        span = f"run {k}, {escape(run.name)}: {run.t[0]:.2f} to {run.t[-1]:.2f} s"
        parts.append(f"<h3>{span}</h3>" + _table(("choice", ""), rows, words=True))
    notes = "".join(f"<li>{escape(note)}</li>" for note in found.notes)
    return "".join(parts) + (f"<ul>{notes}</ul>" if notes else "")


# ------------------------------------------------------------------ figures


def _figure(count: int, titles: Sequence[str], columns: int = 1, height: int = 170) -> Any:
    rows = -(-count // columns)
    return panels(
        rows, columns, height=80 + height * rows, subplot_titles=titles,
        vertical_spacing=60 / (80 + height * rows),
    )  # fmt: skip


def _curve(t: Array, y: Array) -> dict[str, Array]:
    step = -(-len(t) // POINTS)
    return {"x": t[::step], "y": y[::step]}


def _torques(found: Findings) -> str:
    text = "Predictions are those of the arm with physical bodies, which files have. Those of "
    text += f"{found.way} are shown by a click on their name. "
    text = text if found.standard is not None else f"Predictions are those of {found.way}. "
    held = "Data held out are shaded." if found.held else ""
    return f"<p>{text}{held}</p>" + part(torques(found))


def torques(found: Findings, height: int = 170) -> Any:
    """A figure of the measured and predicted torque of every joint; data held out are shaded.

    Predictions and residuals are those of `found.robot`; another solution is hidden until its name
    is clicked. A joint takes so many pixels of the figure's height.
    """
    graphs, joints = graph_objects(), found.model.parameters.model.coordinates
    units = {"R": "Nm", "P": "N"}
    titles = [f"{plain(x.name)} ({units.get(x.letter, 'Nm, N')})" for x in joints]
    figure = _figure(len(joints), titles, height=height)
    offset = 0.0
    for k, run in enumerate((*found.samples, *found.held)):
        t, measured, predicted = found.compared(run)
        curves = [
            ("measured", measured, MEASURED, 4.0),
            (f"predicted, {found.solution}", predicted, PREDICTED, 1.2),
            ("residual", measured - predicted, RESIDUAL, 1.2),
        ]
        others = [name for name in found.solutions if name != found.solution]
        curves += [
            (f"predicted, {name}", found.compared(run, name)[2], OTHER, 1.2) for name in others
        ]
        t = t - t[0] + offset
        for i in range(len(joints)):
            for n, (label, y, colour, width) in enumerate(curves):
                trace = graphs.Scatter(
                    **_curve(t, y[:, i]), name=label, legendgroup=label,
                    showlegend=k == 0 and i == 0, line={"color": colour, "width": width},
                    visible=True if n < 3 else "legendonly",
                )  # fmt: skip
                figure.add_trace(trace, i + 1, 1)
            if k >= len(found.samples):
                figure.add_vrect(
                    x0=t[0], x1=t[-1], fillcolor=HELD, opacity=0.1, line_width=0,
                    row=i + 1, col=1,
                )  # fmt: skip
        offset = float(2 * t[-1] - t[-2])
    figure.update_xaxes(title_text="time (s)", row=len(joints), col=1)
    return figure


def _residuals(found: Findings) -> str:
    """Histogram and spectrum of the residuals of every joint, in units of its noise."""
    graphs, names = graph_objects(), _joints(found)
    figure = _figure(2, ["how often", "spectrum (per Hz)"], columns=2, height=320)
    residuals = [_relative(found, run) for run in found.samples]
    longest = max(range(len(residuals)), key=lambda k: len(residuals[k]))
    for i, name in enumerate(names):
        own = np.concatenate([x[:, i] for x in residuals])
        colour = COLOURS[i % len(COLOURS)]
        counts, edges = np.histogram(own, bins=60, range=(-5, 5), density=True)
        line = {"color": colour, "width": 1.2}
        figure.add_trace(
            graphs.Scatter(
                x=(edges[1:] + edges[:-1]) / 2, y=counts, name=plain(name), legendgroup=name,
                line=line,
            ),
            1, 1,
        )  # fmt: skip
        f, power = _spectrum(residuals[longest][:, i], found.samples[longest])
        figure.add_trace(
            graphs.Scatter(
                **_curve(f, power), name=plain(name), legendgroup=name, showlegend=False, line=line
            ),
            1, 2,
        )  # fmt: skip
    x = np.linspace(-5, 5, 101)
    bell = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    normal = {"color": INK, "dash": "dot", "width": 1}
    figure.add_trace(graphs.Scatter(x=x, y=bell, name="normal", line=normal), 1, 1)
    figure.update_xaxes(title_text="residual over noise", row=1, col=1)
    figure.update_xaxes(title_text="frequency (Hz)", row=1, col=2)
    figure.update_yaxes(type="log", row=1, col=2)
    return part(figure)


def _relative(found: Findings, run: Samples) -> Array:
    """The residuals of a run over the noise of each joint."""
    _, measured, predicted = found.compared(run)
    residuals: Array = (measured - predicted) / found.estimate.noise
    return residuals


def _spectrum(x: Array, run: Samples) -> tuple[Array, Array]:
    """The power spectral density of the residuals of a run, decimated."""
    from scipy.signal import welch  # which takes as long to load as all of armlet

    rate = run.rate / float(np.median(np.diff(run.kept)))
    f, power = welch(x, rate, nperseg=min(len(x), 512))
    return f, power


def _excitation(found: Findings) -> str:
    """Positions over time, and the singular values of the regressor."""
    graphs, names = graph_objects(), _joints(found)
    figure = _figure(2, ["position (rad, m)", "velocity (rad/s, m/s)"], height=220)
    run = max(found.samples, key=lambda x: len(x.t))
    for i, name in enumerate(names):
        line = {"color": COLOURS[i % len(COLOURS)], "width": 1.2}
        for row, y in enumerate((run.q, run.qd), 1):
            trace = graphs.Scatter(
                **_curve(run.t, y[:, i]), name=plain(name), legendgroup=name, showlegend=row == 1,
                line=line,
            )  # fmt: skip
            figure.add_trace(trace, row, 1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    text = (
        f"<p>Condition number of the regressor: {found.condition:.1f}; {found.estimate.rank} of "
        f"{len(found.names)} combinations are determined.</p>"
    )
    return text + part(figure)
