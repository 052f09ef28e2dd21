"""Child process of `formats.xacro`, in which the package `xacro` expands a file.

This module imports nothing from armlet. The process reads and writes lines of JSON. First, it
reads the request {"file", "arguments"}. For every $(find NAME), it writes {"find": NAME} and reads
the folder of the package NAME. Finally, it writes {"text", "declared"}; "declared" lists the
arguments that the file declares or uses. After an error, it writes {"error", "file", "macros",
"missing"} instead.
"""

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class Arguments(dict[str, str]):
    """Argument name -> value; `declared` collects the names that the file declares or uses."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.declared: set[str] = set()

    def __contains__(self, name: object) -> bool:  # called where a file declares an argument
        self.declared.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:  # called where a file uses an argument
        value = super().__getitem__(name)
        self.declared.add(name)
        return value


def main() -> None:
    """Read one request, and write the expanded file or the error."""
    answers, sys.stdout = sys.stdout, sys.stderr  # prints of xacro files go to stderr

    def write(**answer: Any) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    def package_folder(name: str) -> str:
        write(find=name)
        return str(json.loads(sys.stdin.readline()))

    request = json.loads(sys.stdin.readline())
    index = ModuleType("ament_index_python")  # replaces the package index of ROS
    packages = ModuleType("ament_index_python.packages")
    vars(packages)["get_package_share_directory"] = package_folder
    sys.modules |= {index.__name__: index, packages.__name__: packages}
    import xacro

    arguments = Arguments(request["arguments"])
    try:
        document = xacro.process_file(request["file"], mappings=arguments, verbosity=0)
        write(text=document.toprettyxml(indent="  "), declared=sorted(arguments.declared))
    except Exception as error:  # any exception, since the file is a program
        files = [request["file"], *xacro.all_includes]
        write(
            error=str(error).strip() or type(error).__name__,
            file=(xacro.filestack or files)[-1],
            macros=[macro.body.getAttribute("name") for macro in reversed(xacro.macrostack or [])],
            missing=_missing(str(error), files, arguments),
        )


def _missing(error: str, files: list[str], arguments: Arguments) -> list[str]:
    """Return all arguments that lack a value if `error` reports such an argument, else []."""
    match = re.search(r"Undefined substitution argument (\w+)", error)
    if not match:
        return []
    text = "".join(Path(file).read_text(errors="replace") for file in files)
    used = re.findall(r"\$\(arg (\w+)\)", text)
    declared = re.findall(r'<xacro:arg\s+name="(\w+)"', text)
    return [x for x in dict.fromkeys([match[1], *used]) if x not in {*arguments, *declared}]


if __name__ == "__main__":
    main()
