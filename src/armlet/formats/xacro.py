"""Expand xacro files with the package `xacro`, in a child process with limited time and output.

A xacro file is a program: its expressions are Python, and may read files and environment variables.
Load only files that you trust.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any

from armlet.errors import ModelError, clip, listing, quote
from armlet.formats.files import MAX_BYTES, Folders
from armlet.formats.xml import Element, parse_xml

CHILD = Path(__file__).with_name("xacro_child.py")
MAX_SECONDS = 30.0
"""Maximum time (s) of an expansion."""


def expand_xacro(
    path: Path, root: Element, arguments: Mapping[str, Any] | None, folders: Folders
) -> Element:
    """Expand a xacro file with root element `root`; return the root element of the result."""
    if find_spec("xacro") is None:
        raise ModelError(
            "xacro files are expanded by the package xacro, which is not installed: pip install "
            "'armlet[xacro]'"
        )
    if arguments is not None and not isinstance(arguments, Mapping):
        raise ModelError(f"xacro is {quote(arguments)}: expected a value for each argument")
    texts = {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (arguments or {}).items()
    }
    result = _run_child(path, texts, folders)
    if "error" in result:
        raise ModelError(_message(result))
    unknown = sorted(set(texts) - set(result["declared"]))
    if unknown:
        raise ModelError(
            f"{clip(path.name)}: no xacro argument is called {quote(unknown[0])}: "
            f"expected one of {listing(result['declared']) or 'none'}"
        )
    data = result["text"].encode("utf-8", "replace")
    expanded = parse_xml(data, f"{clip(path.name)} (expanded)")
    macros = [macro.get("name") for macro in root.all("xacro:macro")]
    if macros and expanded.tag == "robot" and not expanded.all("link"):
        raise ModelError(
            f"{clip(path.name)}: it has no links, only macros ({listing(macros)}): expected a file "
            "that includes this one and calls them"
        )
    return expanded


def _run_child(path: Path, arguments: Mapping[str, str], folders: Folders) -> dict[str, Any]:
    """Run the child process, answer its requests for package folders, and return its result."""
    where, start = clip(path.name), monotonic()
    packages: dict[str, str] = {}
    message: Any = {"file": str(path), "arguments": arguments}
    try:
        with subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            late = Timer(MAX_SECONDS, child.kill)
            late.start()
            try:
                while True:
                    print(json.dumps(message), file=child.stdin, flush=True)
                    line = child.stdout.readline(MAX_BYTES)
                    if not line.endswith("\n"):
                        raise ModelError(_end_message(where, line, monotonic() - start))
                    answer: dict[str, Any] = json.loads(line)
                    if "find" not in answer:
                        break
                    name = answer["find"]
                    packages[name] = message = str(folders.package(name, where))
            finally:
                late.cancel()
                child.kill()
    except BrokenPipeError:  # the child ended before it read the request
        raise ModelError(_end_message(where, "", monotonic() - start)) from None
    for name, folder in sorted(packages.items(), key=lambda item: len(item[1]), reverse=True):
        for written in (f"file://{folder}/", f"{folder}/"):  # URIs in place of local folders
            answer["text"] = answer.get("text", "").replace(written, f"package://{name}/")
    return answer


def _end_message(where: str, line: str, seconds: float) -> str:
    if line:
        return f"{where}: it expands to more than {MAX_BYTES} characters: expected one robot"
    if seconds >= MAX_SECONDS:
        return f"{where}: expanding it takes more than {MAX_SECONDS:g} s: expected less"
    return f"{where}: expanding it ended the process of xacro: expected a result"


def _message(result: Mapping[str, Any]) -> str:
    """Return the error message: the file, the macro that was expanded, and xacro's own message."""
    where = clip(Path(result["file"]).name)
    if missing := result["missing"][:10]:
        values = ", ".join(f"{quote(x)}: …" for x in missing)
        options = " ".join(f"--xacro {clip(x)}=…" for x in missing)
        return (
            f"{where}: the argument {quote(missing[0])} has no value: give it by "
            f"xacro={{{values}}} (on the command line {options})"
        )
    inside = "".join(f", in macro {quote(name)}" for name in result["macros"][:1])
    text = " ".join(result["error"].split())
    return f"{where}{inside}: xacro cannot expand it: {clip(text, 300)}"
