"""The way of a call through armlet's functions, from a public method to LLVM or another module."""

import sys
import threading
from pathlib import Path

import armlet

SOURCE = str(Path(armlet.__file__).parent)


class Watched:
    """A module that notes the calls in progress whenever something in it is looked up."""

    def __init__(self, module):
        self.module, self.paths = module, []

    def __getattr__(self, name):
        self.paths.append(path_to_here())
        return getattr(self.module, name)


def paths_within(function):
    """The paths of all calls within a function's, each a tuple of names, the outermost first."""
    paths = set()

    def note(frame, event, _):
        if event == "call" and (names := [*_functions(frame)]):
            paths.add((*reversed(names),))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return paths


def path_to_here():
    """The named functions of armlet in progress: those of the main thread, then of this one."""
    frames = sys._current_frames()
    here = threading.get_ident()
    main = threading.main_thread().ident
    stacks = [frames[main]] if here == main else [frames[main], frames[here]]
    return [name for frame in stacks for name in reversed([*_functions(frame)])]


def _functions(frame):
    """The functions of armlet on a stack, the innermost first; comprehensions are left out."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<"):
            file = Path(code.co_filename).relative_to(SOURCE).with_suffix("")
            yield f"{'.'.join(file.parts)}.{code.co_qualname}"
        frame = frame.f_back


def functions_until(call, last):
    """The named functions of armlet that a call enters up to the one called `last`, each once."""
    entered = {}

    def note(frame, event, _):
        if event == "call" and last not in entered and (names := [*_functions(frame)]):
            entered.setdefault(names[0])

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [*entered]
