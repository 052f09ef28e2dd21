"""`Identified`: an arm found from its motion, and how it is written and reported."""

import json
from dataclasses import dataclass
from pathlib import Path

from armlet._support.files import write
from armlet.api import Robot
from armlet.errors import DataError
from armlet.identification.findings import Findings
from armlet.identification.report import page, torques
from armlet.plotting import Figure, Plotted, Theme, themed


@dataclass(frozen=True, eq=False, repr=False)
class Identified(Findings, Plotted):
    __doc__ = Findings.__doc__

    def to_urdf(self, path: str | Path) -> None:
        """Write the arm as URDF; its bodies must be physical."""
        self._physical().to_urdf(path)

    def to_toml(self, path: str | Path) -> None:
        """Write the arm as TOML; its bodies must be physical."""
        self._physical().to_toml(path)

    def _physical(self) -> Robot:
        assert len(self.bodies)  # raises where there are none
        return self.robot

    def plot(self, theme: Theme = "light") -> Figure:
        """A Plotly figure: measured torques and those of `robot`, data held out shaded."""
        return themed(torques(self), theme)

    def report(self, path: str | Path) -> None:
        """Write a page with everything, to be opened in a browser, and a JSON file beside it."""
        path = Path(path)
        if path.suffix == ".json":
            raise DataError(f"report {path.name} ends in '.json', as its data do: expected .html")
        write(path, page(self))
        self.to_json(path.with_suffix(".json"))

    def to_json(self, path: str | Path) -> None:
        """Write all figures as JSON."""
        write(path, json.dumps(self.figures(), indent=2) + "\n")
