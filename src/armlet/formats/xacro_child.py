"""The child process that expands a xacro file by the package `xacro`; `xacro` starts it.

It imports nothing of armlet. It reads and writes lines of JSON: reads the request {"file",
"arguments"}; writes {"find": NAME} for every $(find NAME) and reads the folder of that package;
writes the result, {"text", "known"} with the arguments that the file has, or {"error", "file",
"macros", "missing"}.
"""

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class Arguments(dict[str, str]):
    """The arguments of a file by name; those that it declares or uses are recorded."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.known: set[str] = set()

    def __contains__(self, name: object) -> bool:  # asked where an argument is declared
        self.known.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:  # asked where it is used
        value = super().__getitem__(name)
        self.known.add(name)
        return value


def main() -> None:
    """Expand the file of one request."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the file prints is not an answer

    def write(**answer: Any) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    def package_folder(name: str) -> str:
        write(find=name)
        return str(json.loads(sys.stdin.readline()))

    request = json.loads(sys.stdin.readline())
    index = ModuleType("ament_index_python")  # in place of the index of a ROS installation
    packages = ModuleType("ament_index_python.packages")
    vars(packages)["get_package_share_directory"] = package_folder
    sys.modules |= {index.__name__: index, packages.__name__: packages}
    import xacro

    arguments = Arguments(request["arguments"])
    try:
        document = xacro.process_file(request["file"], mappings=arguments, verbosity=0)
        write(text=document.toprettyxml(indent="  "), known=sorted(arguments.known))
    except Exception as error:  # of any kind: the file is a program
        files = [request["file"], *xacro.all_includes]
        write(
            error=str(error).strip() or type(error).__name__,
            file=(xacro.filestack or files)[-1],
            macros=[macro.body.getAttribute("name") for macro in reversed(xacro.macrostack or [])],
            missing=_missing(str(error), files, arguments),
        )


def _missing(error: str, files: list[str], arguments: Arguments) -> list[str]:
    """All arguments that the files use and that have no value, if that is the error."""
    match = re.search(r"Undefined substitution argument (\w+)", error)
    if not match:
        return []
    text = "".join(Path(file).read_text(errors="replace") for file in files)
    used = re.findall(r"\$\(arg (\w+)\)", text)
    declared = re.findall(r'<xacro:arg\s+name="(\w+)"', text)
    return [x for x in dict.fromkeys([match[1], *used]) if x not in {*arguments, *declared}]


if __name__ == "__main__":
    main()
