"""Pages in headless Chromium, driven by the DevTools protocol."""

import base64
import json
import shutil
import subprocess
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless=old",
    "--no-sandbox",
    "--no-zygote",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


def _port(folder):
    """The port of a browser's DevTools; None while the browser starts."""
    path = Path(folder, "DevToolsActivePort")
    lines = path.read_text().split() if path.exists() else []  # the file may still be empty
    return lines[0] if lines else None


class Browser:
    """One page of a browser: `with Browser(url) as page: ...`."""

    def __init__(self, url, width=700, height=500, patience=120.0):
        self.url, self.size, self.patience = url, (width, height), patience
        self.console, self.requests, self.ids = [], [], count(1)

    def __enter__(self):
        from websockets.sync.client import connect

        with ExitStack() as opened:
            folder = opened.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
            size = "--window-size={},{}".format(*self.size)
            process = subprocess.Popen(
                [CHROMIUM, *FLAGS, size, f"--user-data-dir={folder}", "about:blank"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            opened.callback(process.wait, timeout=20)
            opened.callback(process.terminate)
            port = self.until(lambda: _port(folder))
            with urlopen(f"http://127.0.0.1:{port}/json") as answer:
                (target,) = (x for x in json.load(answer) if x["type"] == "page")
            connected = connect(target["webSocketDebuggerUrl"], max_size=None)
            self.socket = opened.enter_context(connected)
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            self.call("Page.navigate", url=self.url)
            self.opened = opened.pop_all()
        return self

    def __exit__(self, *_):
        self.opened.close()

    def call(self, method, **parameters):
        """Send a DevTools command and return its result; record the page's events meanwhile."""
        wanted = next(self.ids)
        self.socket.send(json.dumps({"id": wanted, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=self.patience))
            if message.get("id") == wanted:
                assert "error" not in message, message
                return message["result"]
            self._record(message)

    def _record(self, message):
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled":
                text = " ".join(str(x.get("value", x.get("description"))) for x in params["args"])
                self.console.append((params["type"], text))
            case "Runtime.exceptionThrown":
                self.console.append(("error", json.dumps(params["exceptionDetails"])[:500]))
            case "Log.entryAdded":
                self.console.append((params["entry"]["level"], params["entry"]["text"]))
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    @property
    def errors(self):
        """The errors on the page's console."""
        return [text for level, text in self.console if level in ("error", "assert")]

    def run(self, script):
        """Evaluate a JavaScript expression in the page, and return its value."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return found["result"].get("value")

    def until(self, found):
        """Wait for a true value of a function or a JavaScript expression, and return the value."""
        last = time.monotonic() + self.patience
        while time.monotonic() < last:
            value = self.run(found) if isinstance(found, str) else found()
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"nothing came of {found}: {self.console}")

    def key(self, key):
        """Press a key, such as ArrowRight."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self):
        """The page as a PNG, without viser's notifications."""
        self.run(
            "document.querySelectorAll('.mantine-Notifications-root').forEach(x => x.remove())"
        )
        return base64.b64decode(self.call("Page.captureScreenshot", optimizeForSpeed=True)["data"])
