"""Every page of the documentation in headless Chromium, wide and narrow, light and dark.

python -m screenshots SITE OUT, run by `make screenshots`, saves a picture of each page and fails
with a list of what is wrong: errors on the console, requests to the network, pages wider than the
window, tables, code and figures that are cut off without a scroll bar, text on other text, and
pages that are not light or dark as their reader has it.
"""

import argparse
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from support.browser import CHROMIUM, Browser

WIDTHS, THEMES = (1400, 400), ("light", "dark")
HEIGHT, TALLEST = 900, 16_000
"""Of the window, and of a picture, which Chromium limits."""
PATIENCE = 1.0
"""Seconds that a page may take to change its colours."""

LAYOUT = """(() => {
const found = [], shown = x => x.checkVisibility({checkVisibilityCSS: true}) && x.clientWidth > 1;
const what = x => x.tagName.toLowerCase() + " '" + x.textContent.trim().slice(0, 40) + "'";
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) found.push(`the page is ${wide} pixels wide`);

// The part of a rectangle that is seen or can be scrolled to, from its element up to the page.
function reach(element, right) {
  for (let a = element; a && a !== document.documentElement; a = a.parentElement) {
    const style = getComputedStyle(a).overflowX, edge = a.getBoundingClientRect().right;
    if (style === "auto" || style === "scroll") return true;
    if (style !== "visible" && a !== document.body && right > edge + 1) return false;
  }
  return right <= innerWidth + 1;
}
for (const x of document.querySelectorAll("table, pre, img, math, .doc-signature")) {
  if (shown(x) && !reach(x, x.getBoundingClientRect().left + x.scrollWidth))
    found.push(`${what(x)} is cut off`);
}

const boxes = [], content = document.querySelector("article") ?? document.body;
const walk = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode, parent = node.parentElement;
  if (!node.data.trim()) continue;
  if (!shown(parent.closest("div, p, td, th, li, h1, h2, h3, pre, body"))) continue;
  if (parent.closest("math, script, style, .md-annotation, [hidden]")) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const b of range.getClientRects())
    if (b.width > 3 && b.height > 3)
      boxes.push([b.top, b.bottom, b.left, b.right, node.data.trim()]);
}
boxes.sort((a, b) => a[0] - b[0]);
boxes.forEach((a, i) => {
  for (let k = i + 1; k < boxes.length && boxes[k][0] < a[1]; k++) {
    const b = boxes[k], high = Math.min(a[1], b[1]) - b[0];
    const across = Math.min(a[3], b[3]) - Math.max(a[2], b[2]);
    if (across > 3 && high > 0.5 * Math.min(a[1] - a[0], b[1] - b[0]))
      found.push(`'${a[4].slice(0, 30)}' is on '${b[4].slice(0, 30)}'`);
  }
});
return found;
})()"""
"""What is wrong with the layout of a page, as JavaScript."""
IS_DARK = """(() => {
const [r, g, b, a] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
return a !== 0 && r + g + b < 380;
})()"""


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a server of a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def visit(browser: Browser, url: str) -> None:
    """Open a page, and forget what others have told."""
    browser.call("Page.navigate", url="about:blank")
    browser.until("location.href === 'about:blank'")
    browser.console.clear()
    browser.requests.clear()
    browser.call("Page.navigate", url=url)
    browser.until(f"location.href === '{url}' && document.readyState === 'complete'")
    browser.call("Runtime.evaluate", awaitPromise=True, expression="document.fonts.ready")


def show(browser: Browser, width: int, theme: str) -> None:
    """Show the page as wide as told, to a reader who prefers light or dark pages."""
    size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    media = [{"name": "prefers-color-scheme", "value": theme}]
    browser.call("Emulation.setEmulatedMedia", features=media)
    settled = "new Promise(done => setTimeout(() => requestAnimationFrame(done), 300))"
    browser.call("Runtime.evaluate", awaitPromise=True, expression=settled)


def problems(browser: Browser, base: str, theme: str) -> list[str]:
    """What is wrong with the page as it is shown; errors and requests only once."""
    found = [f"console: {text}" for text in browser.errors]
    local = (base, "data:", "blob:", "about:")
    found += [f"request to {x}" for x in browser.requests if not x.startswith(local)]
    browser.console.clear()
    browser.requests.clear()
    if not _is(browser, theme):
        time.sleep(PATIENCE)  # a busy browser is late to change the colours
        if not _is(browser, theme):
            found.append(f"the page is not {theme}")
    return found + browser.run(LAYOUT)


def _is(browser: Browser, theme: str) -> bool:
    return bool(browser.run(IS_DARK)) == (theme == "dark")


def picture(browser: Browser, width: int) -> bytes:
    """The whole page as a PNG."""
    height = min(browser.run("document.documentElement.scrollHeight"), TALLEST)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    found = browser.call(
        "Page.captureScreenshot", captureBeyondViewport=True, clip=clip, optimizeForSpeed=True
    )
    return b64decode(found["data"])


def look(site: Path, out: Path, only: str = "") -> list[str]:
    """Save pictures of all pages whose path has a part, and list what is wrong with them."""
    out.mkdir(parents=True, exist_ok=True)
    pages = sorted(path for path in site.rglob("*.html") if only in str(path.relative_to(site)))
    wrong = []
    with served(site) as base, Browser("about:blank") as browser:
        for path in pages:
            name = path.relative_to(site).as_posix()
            show(browser, WIDTHS[0], THEMES[0])  # pages are animated where the width changes
            visit(browser, base + name)
            for width in WIDTHS:
                for theme in THEMES:
                    show(browser, width, theme)
                    found = problems(browser, base, theme)
                    wrong += [f"{name}, {width} pixels, {theme}: {x}" for x in found]
                    flat = name.removesuffix("/index.html").removesuffix(".html").replace("/", "-")
                    (out / f"{flat}_{width}_{theme}.png").write_bytes(picture(browser, width))
            print(name, flush=True)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path, help="the folder that mkdocs has written")
    parser.add_argument("out", type=Path, help="where pictures are saved")
    parser.add_argument("--only", default="", help="pages whose path has this part")
    given = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("no Chromium is installed: expected chromium or google-chrome on the path")
    if not given.site.is_dir():
        sys.exit(f"{given.site} is no folder: build the documentation first, by make docs")
    wrong = look(given.site, given.out, given.only)
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(f"{len(wrong)} problems; pictures are in {given.out}")


if __name__ == "__main__":
    main()
