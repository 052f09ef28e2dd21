"""Pictures of the viewer for docs/view.md: a Panda, and the bodies of a UR5e as ellipsoids.

python docs/_view.py

Needs Chromium and the extra `view`.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import armlet

FIGURES = Path(__file__).parent / "figures"
PANDA = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.2, 0.7])
UR5E = np.array([3.1, -1.2, 1.6, -1.9, -1.57, 0.0])
SIZE = (1200, 940)


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.browser import Browser

    panda, ur5e = armlet.load("panda"), armlet.load("ur5e")
    run = armlet.simulate(panda, PANDA, np.zeros(7), duration=1.5, dt=0.01)
    viewer = armlet.view(panda, run, q=PANDA)
    with Browser(viewer.url, *SIZE) as page:
        page.until("document.querySelectorAll('[role=slider]').length > 7")
        save(page.picture, "view.png", lambda: viewer.show(PANDA))
    viewer.close()

    viewer = armlet.view(ur5e, q=UR5E)
    with Browser(viewer.url, *SIZE) as page:
        page.until("document.querySelectorAll('[role=slider]').length > 5")

        def bodies() -> None:
            viewer.boxes["com"].value = viewer.boxes["inertia"].value = True
            viewer.payload[0].value, viewer.payload[3].value = 2.0, 0.1

        save(page.picture, "view_bodies.png", bodies)
    viewer.close()


def save(picture: Callable[[], bytes], name: str, change: Callable[[], None]) -> None:
    """Write the picture as it is once a change has been drawn."""
    from PIL import Image

    change()
    seen = [picture()]
    while len(seen) < 3 or seen[-1] != seen[-2]:
        seen.append(picture())
    Image.open(io.BytesIO(seen[-1])).convert("RGB").save(FIGURES / name, optimize=True)


if __name__ == "__main__":
    main()
