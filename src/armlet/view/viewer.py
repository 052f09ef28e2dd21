"""Viewer of a robot in the browser, with joint sliders, torques and playback of a trajectory."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api import Robot
from armlet.errors import ArmletError
from armlet.robot import BASE
from armlet.simulation import Trajectory
from armlet.view.panel import panel
from armlet.view.scene import payload, slider_ranges
from armlet.view.server import quiet, viser_server
from armlet.view.stage import RATE, Stage

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
LAYERS = {"frames": "Frames", "com": "Centres of mass", "inertia": "Inertia ellipsoids"}
Array = NDArray[np.float64]


class Viewer:
    """View of a robot in the browser, as returned by `armlet.view`.

    Attributes
    ----------
    url : str
        The address of the viewer's page.
    q : array of shape (nq,)
        The posture shown.
    time : float
        The current time of the trajectory, in s.
    """

    def __init__(
        self,
        robot: Robot,
        trajectory: Trajectory | None,
        ghost: Robot | None,
        q: Array,
        folders: Sequence[str | Path],
        host: str,
        port: int,
    ) -> None:
        self.robot, self.trajectory, self.start = robot, trajectory, q
        self.server = viser_server(host, port)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self.server.get_port()}"
        self.stage = Stage(self.server, robot, ghost, q, folders)
        self.time = float(trajectory.t[0]) if trajectory is not None else 0.0
        self._payload: Any = None
        self._following = False
        self._lock = threading.RLock()
        self._playing, self._closed = threading.Event(), threading.Event()
        self._build()
        self.show(q)
        if trajectory is not None:
            self.seek(self.time)
            threading.Thread(target=self._advance, daemon=True).start()

    # ------------------------------------------------------------------ public methods

    def show(self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None) -> None:
        """Show a posture and its torques; velocities and accelerations are zero by default."""
        with self._lock:
            still = np.zeros(self.robot.nv)
            self.q = np.asarray(q, float)
            self.qd, self.qdd = (still if x is None else np.asarray(x, float) for x in (qd, qdd))
            self.stage.move(self.q)
            self._refresh()
            moved = self.robot.difference(self.robot.neutral, self.q)
            self._set(zip(self.sliders, moved.tolist(), strict=True))

    def seek(self, time: float) -> None:
        """Show the state of the trajectory at `time`, in s."""
        run = self._run()
        with self._lock:
            self.time = float(np.clip(time, run.t[0], run.t[-1]))
            at = run.at([self.time])
            self._set([(self.clock, self.time)])
            self.show(at.q[0], at.qd[0], at.qdd[0])

    def play(self) -> None:
        """Play the trajectory from the current time or, if the end is reached, from the start."""
        if self.time >= self._run().t[-1]:
            self.seek(float(self._run().t[0]))
        self._playing.set()
        self.button.label = "Pause"

    def pause(self) -> None:
        """Pause the playback at the current time."""
        self._playing.clear()
        if self.trajectory is not None:
            self.button.label = "Play"

    def wait(self) -> None:
        """Wait until the viewer is closed; Ctrl-C closes the viewer."""
        with contextlib.suppress(KeyboardInterrupt):
            self._closed.wait()
        self.close()

    def close(self) -> None:
        """Close the viewer and stop its server."""
        if not self._closed.is_set():
            self._closed.set()
            with quiet():
                self.server.stop()

    def __repr__(self) -> str:
        return f"<Viewer of {self.robot.name!r} at {self.url}>"

    # ------------------------------------------------------------------ controls

    def _run(self) -> Trajectory:
        if self.trajectory is None:
            raise ArmletError("no run is shown: expected view(robot, trajectory)")
        return self.trajectory

    def _build(self) -> None:
        gui = self.server.gui
        gui.set_panel_label(self.robot.name)
        if self.trajectory is not None:
            with gui.add_folder("Run"):
                self._build_run(self.trajectory)
        self.numbers = gui.add_html("")
        with gui.add_folder("Joints (rad, m)"):
            moved = self.robot.difference(self.robot.neutral, self.start)
            rows = zip(self.robot.velocity_names, slider_ranges(self.robot), moved, strict=True)
            self.sliders = [self._slider(name, *ends, x) for name, ends, x in rows]
            gui.add_button("Reset").on_click(self._on_reset)
        with gui.add_folder("Show"):
            self.boxes = {
                layer: gui.add_checkbox(label, initial_value=False)
                for layer, label in LAYERS.items()
            }
            self.ghost_box = None
            if self.stage.ghost is not None:
                self.ghost_box = gui.add_checkbox("Ghost", initial_value=True)
            for box in filter(None, (*self.boxes.values(), self.ghost_box)):
                box.on_update(lambda _: self._show_layers())
        if self.robot.tool is not None and self.robot.frame().body != BASE:
            with gui.add_folder("Payload", expand_by_default=False):
                self._build_payload()

    def _build_run(self, run: Trajectory) -> None:
        gui = self.server.gui
        self.button = gui.add_button("Play")
        self.button.on_click(lambda _: self.pause() if self._playing.is_set() else self.play())
        first, last = float(run.t[0]), float(run.t[-1])
        self.clock = gui.add_slider("Time (s)", first, max(last, first + 1e-3), 1e-3, first)
        self.clock.on_update(self._by_user(lambda: self.seek(self.clock.value)))
        self.speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")

    def _slider(self, name: str, lower: float, upper: float, value: float) -> Any:
        digits = 3 if upper - lower > 1 else 5
        step = 10.0**-digits
        if upper - lower > 2 * step:  # round the limits inwards, to readable numbers
            lower, upper = round(lower + step / 2, digits), round(upper - step / 2, digits)
        value = float(np.clip(value, lower, upper))
        slider = self.server.gui.add_slider(name, lower, upper, step, value)
        slider.on_update(self._by_user(self._on_slider))
        return slider

    def _build_payload(self) -> None:
        gui, reach = self.server.gui, self.stage.robot.scene.reach
        heaviest = float(np.ceil(max(1.0, 0.5 * float(self.robot.mass))))
        self.payload = [gui.add_slider("Mass (kg)", 0.0, heaviest, 0.01, 0.0)]
        limit = round(0.3 * reach, 3)
        for axis in "xyz":
            self.payload.append(gui.add_slider(f"{axis} (m)", -limit, limit, 1e-3, 0.0))
        for slider in self.payload:
            slider.on_update(self._by_user(self._on_payload))

    def _by_user(self, action: Callable[[], None]) -> Callable[[Any], None]:
        """Wrap `action` as a callback that is skipped while the viewer itself sets controls."""

        def update(_: Any) -> None:
            with self._lock:
                if not self._following:
                    action()

        return update

    def _set(self, values: Iterable[tuple[Any, float]]) -> None:
        """Set controls without running their callbacks."""
        self._following = True
        for control, value in values:
            control.value = float(np.clip(value, control.min, control.max))
        self._following = False

    def _on_slider(self) -> None:
        self.pause()
        moved = [slider.value for slider in self.sliders]
        self.q = self.robot.integrate(self.robot.neutral, moved)
        self.qd = self.qdd = np.zeros(self.robot.nv)
        self.stage.move(self.q)
        self._refresh()

    def _on_reset(self, _: Any) -> None:
        self.pause()
        self.show(self.start)

    def _on_payload(self) -> None:
        mass, *offset = (slider.value for slider in self.payload)
        self.stage.robot.dynamics.carry(mass, offset)
        if self._payload is not None:
            self._payload.remove()
            self._payload = None
        if mass:
            self._payload = self.stage.robot.add("payload", payload(self.robot, mass, offset))
        self._refresh()

    def _show_layers(self) -> None:
        layers = {layer: box.value for layer, box in self.boxes.items()}
        self.stage.show(layers, self.ghost_box is not None and self.ghost_box.value)

    def _refresh(self) -> None:
        moves = bool(np.any(self.qd) or np.any(self.qdd))
        title = "Torques of the run" if moves else "Torques that hold the arm"
        numbers = self.stage.numbers(self.q, self.qd, self.qdd)
        self.numbers.content = panel(self.robot, title, *numbers)

    def _advance(self) -> None:
        """Advance the time during playback; return when the viewer is closed."""
        before = time.monotonic()
        while not self._closed.wait(1 / RATE):
            now = time.monotonic()
            step, before = now - before, now
            if not self._playing.is_set():
                continue
            self.seek(self.time + step * float(self.speed.value))
            if self.time >= self._run().t[-1]:
                self.pause()
