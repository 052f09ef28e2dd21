"""LLVM in process: IR text to machine code."""

import ctypes
import functools
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple
from weakref import ref

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from llvmlite.binding import ffi

from armlet import version
from armlet._support.progress import advancing, status
from armlet.codegen.llvm.function import Target
from armlet.errors import CompileError, listed, quoted
from armlet.runtime import cache
from armlet.runtime.llvm_threads import THREADS, by_all

LONG = 12_000
"""Lines of IR that take about a second."""
NEW_FROM_DESCRIPTOR, ARRAY_TYPE = 94, 2
"""Places in NumPy's table of functions, fixed since NumPy 1.7."""


def in_llvm(function: Callable[..., Any], *args: Any) -> Any:
    """What a function that uses LLVM returns, called in the thread that loads and frees code."""
    return THREADS[0].call(_after_releases, function, args)


def _after_releases(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    while RELEASED:
        del ENGINES[RELEASED.popleft()]
    return function(*args)


class Code(np.ndarray[Any, Any]):
    """Machine code in memory, kept as long as this object lives.

    It holds things as an array holds its entries, which the garbage collector does not see. The
    collector would take apart what it finds in a dead cycle at once, though a finalizer in that
    cycle may still call the code. It has a hash, as weak references need.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    @classmethod
    def of(cls, addresses: Mapping[str, int], *kept: Any) -> "Code":
        """The code with functions at these addresses, and what must live as long as it.

        One place is left for what comes later.
        """
        code = cls(2 + len(kept), dtype=object)
        for k, thing in enumerate((addresses, *kept)):
            code[k] = thing
        return code

    @property
    def addresses(self) -> dict[str, int]:
        found: dict[str, int] = self[0]
        return found


ENGINES: dict[ref[Code], Any] = {}
"""The engine of each code that is alive."""
RELEASED: deque[ref[Code]] = deque()
"""Codes that are not alive any more; the thread that loads code frees their engines."""


ARCHITECTURES = {
    "x86-64-v2": "+sse4.2,+popcnt",
    "sandybridge": "+sse4.2,+popcnt,+avx",
    "x86-64-v3": "+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+movbe",
}
"""Older processors that $ARMLET_CPU may name, and the features that code for them uses."""


class Cpu(NamedTuple):
    """What LLVM knows of a machine."""

    triple: str
    name: str
    features: str


@functools.cache
def cpu() -> Cpu:
    """The processor to compile for: this one, or the older one that $ARMLET_CPU names."""
    here, name = Cpu(*in_llvm(_cpu)), os.environ.get("ARMLET_CPU")
    if not name:
        return here
    has = set(here.features.split(","))
    runs = {
        x: features for x, features in ARCHITECTURES.items() if has.issuperset(features.split(","))
    }
    if name not in runs:
        raise CompileError(
            f"ARMLET_CPU is {quoted(name)}: expected a processor whose code runs on this one "
            f"({listed(list(runs)) or 'there is none'}); without it code is for this processor"
        )
    return Cpu(here.triple, name, runs[name])


def _cpu() -> tuple[str, str, str]:
    features = ""
    with suppress(RuntimeError):  # LLVM does not know them on every system
        features = llvm.get_host_cpu_features().flatten()
    return llvm.get_default_triple(), llvm.get_host_cpu_name(), features


@functools.cache
def start() -> None:
    """Make LLVM know this machine, and where NumPy and CPython are."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _add_symbols(_symbols())


def add_symbols(addresses: Mapping[str, int]) -> None:
    """Make code that is loaded from now on find functions at these addresses by name."""
    in_llvm(_add_symbols, addresses)


def _add_symbols(addresses: Mapping[str, int]) -> None:
    for name, address in addresses.items():
        llvm.add_symbol(name, address)


def machine(effort: int = 3) -> Any:
    """A target for one engine, which owns it: `cpu`, with all it has."""
    start()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu().name, features=cpu().features, opt=effort, jit=True
    )


def host(dtype: str) -> Target:
    """The widest code that `cpu` runs."""
    has = set(cpu().features.split(","))
    lanes = 8 if "+avx512f" in has else 4 if "+avx2" in has else 2
    fuses = "+fma" in has or not cpu().triple.startswith(("x86", "amd64", "i"))
    return Target(dtype, lanes * (2 if dtype == "float32" else 1), fuses)


def machine_name() -> str:
    """What tells one kind of machine from another."""
    return "\0".join(cpu())


def compiled(text: str, *functions: str, pieces: Sequence[str] = ()) -> Code:
    """The machine code of a module with the named functions, cached on disk.

    What it calls may be in further modules, each printed, compiled and cached by itself: other
    threads may use LLVM in between, and what was compiled before an interrupt is found again.
    """
    objects = _objects(pieces)
    key = _key(text)
    found = in_llvm(_cached, key, functions, objects)
    if found is None:
        lines = text.count("\n")
        with status(f"compiling {lines} lines for this machine", quick=lines < LONG):
            found = in_llvm(_built, key, text, functions, objects)
    code: Code = found
    return code


def _objects(texts: Sequence[str]) -> list[bytes]:
    """The objects of modules; a line on the terminal says how far that is if it takes long."""
    if not texts:
        return []
    machine_name()  # not for the first time in one of the threads, which would wait for another
    in_llvm(start)
    objects: dict[int, bytes] = {}
    with advancing(f"compiling {len(texts)} parts for this machine") as to:
        for k, built in by_all(lambda k: _object(texts[k]), len(texts)):
            objects[k] = built
            to(len(objects) / len(texts))
    return [objects[k] for k in range(len(texts))]


def _key(text: str) -> str:
    return cache.key(version.__version__, str(llvmlite.__version__), machine_name(), text)


def _object(text: str) -> bytes:
    """The object of a piece, compiled now unless it is in the cache.

    With less effort LLVM takes a quarter less time, and the code of a piece is no slower.
    """
    key = _key(text)
    known = cache.load(key)
    if known is None:
        known = _emitted(text, 1)
        cache.save(key, known)
    return known


def _cached(key: str, functions: Sequence[str], pieces: Sequence[bytes]) -> Code | None:
    """The code of a module in the cache and of the objects that it needs, if it can be used."""
    known = cache.load(key)
    if known is not None:
        with suppress(CompileError):
            return _loaded((known, *pieces), functions)
    return None


def _built(key: str, text: str, functions: Sequence[str], pieces: Sequence[bytes]) -> Code:
    """The same, compiled now; it is cached once it could be loaded."""
    built = _emitted(text)
    code = _loaded((built, *pieces), functions)
    cache.save(key, built)
    return code


def _emitted(text: str, effort: int = 3) -> bytes:
    """The object file of a module, by more or less of LLVM's effort."""
    target = machine(effort)
    module = _parsed(text, target)
    with ffi.OutputString() as message:
        buffer = _unlocked()(target, module, True, message)
        if not buffer:
            raise CompileError(f"LLVM does not compile the program: {message}")
    try:
        start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _unlocked() -> Callable[..., Any]:
    """llvmlite's function that emits an object, without its lock: modules have nothing in common.

    With the lock, which all of its functions share, threads would compile one after the other.
    """
    found: Any = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    with suppress(AttributeError, OSError):
        function = ctypes.CDLL(ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
        function.argtypes, function.restype = found.argtypes, found.restype
        found = function
    emit: Callable[..., Any] = found
    return emit


def _loaded(objects: Sequence[bytes], functions: Sequence[str]) -> Code:
    """Object files loaded into memory together, with all the named functions."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    for built in objects:
        file = llvm.ObjectFileRef.from_data(built)
        if not file:
            raise CompileError("LLVM cannot read its own object file")
        engine.add_object_file(file)
    addresses = {name: engine.get_global_value_address(name) for name in functions}
    for name, address in addresses.items():
        if not address:
            raise CompileError(f"the machine code has no function {name!r}")
    code = Code.of(addresses)
    ENGINES[ref(code, RELEASED.append)] = engine
    return code


def _parsed(text: str, target: Any) -> Any:
    """The module that a text describes, its small functions in place."""
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the program: {error}") from None
    inline = llvm.create_new_module_pass_manager()
    inline.add_always_inliner_pass()
    inline.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    return module


def _symbols() -> dict[str, int]:
    """Where NumPy and Python keep what compiled entries need."""
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
        "armlet_str": id(str),
        "armlet_list": id(list),
        "armlet_tuple": id(tuple),
        "armlet_float": id(float),
        "armlet_int": id(int),
        "armlet_none": id(None),
        "armlet_true": id(True),
        "armlet_dead": id(ReferenceError),
    }
