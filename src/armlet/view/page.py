"""A view as one page that needs no server and no network."""

import html
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from armlet.api import Robot
from armlet.simulation import Trajectory
from armlet.view.live import Numbers
from armlet.view.panel import Bar, bars, energies, panel
from armlet.view.server import RATE, Stage, quiet, viser_server

MAX_PICTURES = 3000
"""A longer run has fewer pictures per second."""
OVERLAY = """
<div id="armlet" style="position:fixed;top:12px;left:12px;width:300px;max-width:calc(100vw - 24px);
background:#fffffff0;border-radius:6px;box-shadow:0 1px 6px #0002;z-index:5;padding:8px 0 0;
font-family:system-ui,sans-serif;color:#1f2733">
<div style="padding:0 12px 2px;font-weight:600;font-size:13px">%(name)s</div>%(panel)s</div>
<script>
const armlet = %(data)s;
(function () {
  // The player has no other way to tell its time than the slider that it shows.
  const root = document.getElementById("armlet");
  const all = (name) => [...root.getElementsByClassName(name)];
  const rows = all("armlet-bar"), texts = all("armlet-text"), marks = all("armlet-mark");
  const below = all("armlet-below")[0];
  let shown = -1;
  function update() {
    const slider = document.querySelector('[role="slider"]');
    const time = slider ? Number(slider.getAttribute("aria-valuenow")) : 0;
    const last = armlet.rows.length - 1;
    const k = Math.max(0, Math.min(last, Math.floor(time / armlet.step + 1e-6)));
    if (k !== shown) {
      shown = k;
      armlet.rows[k].bars.forEach(([left, width, colour, text, mark], i) => {
        Object.assign(rows[i].style, {left: left + "%%", width: width + "%%", background: colour});
        texts[i].textContent = text;
        if (marks[i]) marks[i].style.left = mark + "%%";
      });
      below.textContent = armlet.rows[k].below;
    }
    requestAnimationFrame(update);
  }
  update();
})();
</script>
"""


def page(
    robot: Robot,
    trajectory: Trajectory | None,
    ghost: Robot | None,
    q: NDArray[np.float64],
    folders: Sequence[str | Path] = (),
) -> str:
    """The text of a page that plays a run, or shows a posture."""
    server = viser_server()
    try:
        stage = Stage(server, robot, ghost, q, folders)
        span = 0.0 if trajectory is None else float(trajectory.t[-1] - trajectory.t[0])
        if trajectory is None or not span:
            posture = q if trajectory is None else trajectory.q[0]
            stage.move(posture)
            return _with_panel(server.scene.as_html(), stage, posture[None], trajectory, 1.0)
        pictures = int(np.clip(np.ceil(span * RATE), 1, MAX_PICTURES))
        step = span / pictures
        run = trajectory.at(np.linspace(trajectory.t[0], trajectory.t[-1], pictures + 1))
        stage.move(run.q[0])
        recorded = server.get_scene_serializer()
        for posture in run.q[1:]:
            recorded.insert_sleep(step)
            stage.move(posture)
        return _with_panel(recorded.as_html(), stage, run.q, run, step)
    finally:
        with quiet():
            server.stop()


def _with_panel(
    text: str, stage: Stage, q: NDArray[np.float64], run: Trajectory | None, step: float
) -> str:
    """The page of viser's with torques and energies at each time of the recording."""
    motion = () if run is None else (run.qd, run.qdd)
    numbers = stage.dynamics(q, *motion)
    ghost = None if stage.ghost_dynamics is None else stage.ghost_dynamics(q, *motion).tau
    rows = []
    for k in range(len(q)):
        state = Numbers(*(x[k] for x in numbers))
        other = None if ghost is None else ghost[k]
        rows.append((bars(stage.robot, state.tau, stage.scale, other), energies(state)))
    title = "Torques that hold the arm" if run is None else "Torques of the run"
    data = {"step": step, "rows": [{"bars": [*map(_rounded, x)], "below": y} for x, y in rows]}
    name = html.escape(stage.robot.name)
    overlay = OVERLAY % {
        "name": name,
        "panel": panel(stage.robot, title, *rows[0]),
        "data": json.dumps(data, separators=(",", ":")).replace("</", "<\\/"),
    }
    text = text.replace("<title>Viser</title>", f"<title>{name}</title>")
    end = text.rindex("</body>")
    return text[:end] + overlay + text[end:]


def _rounded(bar: Bar) -> list[float | str | None]:
    """The bar as it is written into a page."""
    mark = None if bar.mark is None else round(bar.mark, 2)
    return [round(bar.left, 2), round(bar.width, 2), bar.colour, bar.text, mark]
