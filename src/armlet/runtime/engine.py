"""LLVM in process: IR text to machine code."""

import ctypes
import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from armlet.codegen.entry import DATA, DESCRIPTOR, DIMENSIONS, FLAGS, RANK, READY, TYPE
from armlet.codegen.llvm import Target
from armlet.errors import CompileError
from armlet.runtime import cache

LONG = 12_000
"""Lines of IR that take about a second."""
NEW_FROM_DESCRIPTOR, ARRAY_TYPE = 94, 2
"""Places in NumPy's table of functions, fixed since NumPy 1.7."""


class Code(np.ndarray[Any, Any]):
    """Machine code in memory, kept as long as this object lives.

    It holds its engine as an array holds its entries, which the garbage collector does not see.
    The collector would take apart an engine that it finds in a dead cycle at once, though a
    finalizer in that cycle may still call the code. A function keeps it in the place of its
    module, so it has a hash and is false, as no module would be.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return False

    @classmethod
    def of(cls, engine: Any, *kept: Any) -> "Code":
        """The code in an engine, with what must live as long as it."""
        code = cls(1 + len(kept), dtype=object)
        for k, thing in enumerate((engine, *kept)):
            code[k] = thing
        return code

    @property
    def engine(self) -> Any:
        return self[0]

    def address(self, name: str) -> int:
        return int(self.engine.get_function_address(name))


@functools.cache
def start() -> None:
    """Make LLVM know this machine, and where NumPy and CPython are."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name, address in _symbols().items():
        llvm.add_symbol(name, address)


def machine() -> Any:
    """A target for one engine, which owns it: this CPU, with all it has."""
    start()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features(), opt=3, jit=True
    )


def features() -> str:
    return str(llvm.get_host_cpu_features().flatten())


def host(dtype: str) -> Target:
    """The widest code this machine runs."""
    has = llvm.get_host_cpu_features()
    lanes = 8 if has.get("avx512f") else 4 if has.get("avx2") else 2
    fuses = bool(has.get("fma")) or not any(name.startswith("sse") for name in has)
    return Target(dtype, lanes * (2 if dtype == "float32" else 1), fuses)


def machine_name() -> str:
    """What tells one kind of machine from another."""
    return "\0".join((machine().triple, llvm.get_host_cpu_name(), features()))


def compiled(text: str) -> Code:
    """The machine code of a module, from the disk if it was compiled before."""
    target = machine()
    name = cache.key(*_versions(), machine_name(), text)
    known = cache.load(name)
    lines = text.count("\n")
    quick = known is not None or lines < LONG
    with nullcontext() if quick else working(f"compiling {lines} lines for this machine"):
        module = _parsed(text, target) if known is None else llvm.parse_assembly("")
        engine = llvm.create_mcjit_compiler(module, target)
        engine.set_object_cache(lambda _, found: cache.save(name, found), lambda _: known)
        engine.finalize_object()
    return Code.of(engine)


def working(what: str) -> AbstractContextManager[Any]:
    """A line on the terminal while something long is done."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


def _parsed(text: str, target: Any) -> Any:
    """The module that a text describes, its small functions in place."""
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the program: {error}") from None
    inline = llvm.create_new_module_pass_manager()
    inline.add_always_inliner_pass()
    inline.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    return module


def _versions() -> tuple[str, str]:
    from armlet import __version__

    return __version__, str(llvmlite.__version__)


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


FASTCALL_KEYWORDS = 0x0080 | 0x0002


def fast_call(
    code: Code, name: str, otherwise: Callable[..., Any], about: str
) -> Callable[..., Any]:
    """The entry in compiled code as a function of Python's own kind, which keeps the code."""
    definition = MethodDefinition(
        name.encode(), code.address("entry"), FASTCALL_KEYWORDS, about.encode()
    )
    kept = Code.of(code.engine, definition)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    function: Callable[..., Any] = new(ctypes.addressof(definition), otherwise, kept)
    return function


@functools.cache
def reads_arrays() -> bool:
    """Whether arrays lie in memory as the entry takes them to, in this Python and this NumPy."""
    array = np.zeros((2, 3))

    def found(offset: int, kind: Any = ctypes.c_size_t) -> Any:
        return kind.from_address(id(array) + offset).value

    return (
        found(TYPE) == id(np.ndarray)
        and found(DATA) == array.ctypes.data
        and found(RANK, ctypes.c_int32) == array.ndim
        and found(DESCRIPTOR) == id(np.dtype(np.float64))
        and found(FLAGS, ctypes.c_int32) & READY == READY
        and tuple((ctypes.c_int64 * 2).from_address(found(DIMENSIONS))) == array.shape
    )


def _symbols() -> dict[str, int]:
    """Where NumPy keeps what the fast call needs."""
    core = "numpy._core" if hasattr(np, "_core") else "numpy.core"
    capsule = import_module(f"{core}._multiarray_umath")._ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.POINTER(ctypes.c_void_p)
    pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = pointer(capsule, None)
    return {
        "armlet_new_array": int(table[NEW_FROM_DESCRIPTOR] or 0),
        "armlet_array_type": int(table[ARRAY_TYPE] or 0),
        "armlet_float64": id(np.dtype(np.float64)),
        "armlet_float32": id(np.dtype(np.float32)),
    }
