"""The picture of `armlet demo` for the README: the page that it writes, in headless Chromium.

python docs/_demo.py [--page demo.html] [--theme dark] [--width 400] [--out demo.png]

Needs Chromium, websockets, Pillow and the extra `plot`. Without a page, `armlet demo` writes one.
"""

import argparse
import io
import sys
import tempfile
from pathlib import Path

import armlet
from armlet.cli.commands.demo import collect, demo_page

FIGURE = Path(__file__).parent / "figures" / "demo.png"
COLOURS = 128
"""Of the picture, so that it stays small."""


def picture(page: Path, width: int, theme: str) -> tuple[bytes, list[str]]:
    """The whole page as a PNG, and what is wrong with it: errors, or too wide for the window."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.browser import Browser

    with Browser(page.resolve().as_uri(), width, 900) as shown:
        features = [{"name": "prefers-color-scheme", "value": theme}]
        shown.call("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "deviceScaleFactor": 1, "mobile": False}
        shown.call("Emulation.setDeviceMetricsOverride", height=900, **size)
        shown.until(
            "document.querySelectorAll('.chart .main-svg').length > 0 && "
            "document.querySelectorAll('.chart').length == "
            "document.querySelectorAll('.figure').length"
        )
        height = shown.run("document.documentElement.scrollHeight")
        shown.call("Emulation.setDeviceMetricsOverride", height=height, **size)
        seen = [b"", shown.picture()]
        while seen[-1] != seen[-2]:
            seen.append(shown.picture())
        wide = shown.run("document.documentElement.scrollWidth")
        problems = [f"the page is {wide} pixels wide"] if wide > width else []
        return seen[-1], problems + shown.errors


def main() -> None:
    from PIL import Image

    parser = argparse.ArgumentParser(description="Make the picture of armlet demo.")
    parser.add_argument("--page", type=Path, help="a page that armlet demo has written")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--width", type=int, default=1400, help="of the window, in pixels")
    parser.add_argument("--out", type=Path, default=FIGURE, help="the picture")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = chosen.page or Path(folder, "demo.html")
        if chosen.page is None:
            page.write_text(demo_page(collect(armlet.load("puma560"))), encoding="utf-8")
        found, problems = picture(page, chosen.width, chosen.theme)
    for problem in problems:
        print(problem, file=sys.stderr)
    image = Image.open(io.BytesIO(found)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(chosen.out, optimize=True)
    print(f"{chosen.out}: {image.width} x {image.height}, {chosen.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
