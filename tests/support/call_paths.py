"""Record the path of a call through armlet's functions, from a public method to other modules."""

import sys
import threading
from pathlib import Path

import armlet

SOURCE = str(Path(armlet.__file__).parent)


class Watched:
    """A wrapper of a module that records the call path at each attribute access."""

    def __init__(self, module):
        self.module, self.paths = module, []

    def __getattr__(self, name):
        self.paths.append(path_to_here())
        return getattr(self.module, name)


def paths_within(function):
    """The paths of all calls that a function makes, as tuples of names, the outermost first."""
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
    """The armlet functions on the stacks of the main thread and of the current thread."""
    frames = sys._current_frames()
    here = threading.get_ident()
    main = threading.main_thread().ident
    stacks = [frames[main]] if here == main else [frames[main], frames[here]]
    return [name for frame in stacks for name in reversed([*_functions(frame)])]


def _functions(frame):
    """Yield the named functions of armlet on a stack, the innermost first."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<"):
            file = Path(code.co_filename).relative_to(SOURCE).with_suffix("")
            yield f"{'.'.join(file.parts)}.{code.co_qualname}"
        frame = frame.f_back


def functions_until(call, last):
    """The distinct armlet functions that a call enters, in order, up to the function `last`."""
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
