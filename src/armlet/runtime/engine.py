"""Compile LLVM IR to machine code and load the code into this process."""

import ctypes
import functools
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, cast
from weakref import ref

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from llvmlite.binding import ffi

from armlet import version
from armlet._support.progress import advancing, status
from armlet.codegen.llvm.function import Target
from armlet.errors import CompileError, listing, quote
from armlet.runtime import cache
from armlet.runtime.threads import LLVM_THREADS, map_unordered

LONG = 12_000
"""The number of lines of LLVM IR that take about a second to compile."""
NEW_FROM_DESCRIPTOR, ARRAY_TYPE = 94, 2
"""Indices into NumPy's table of C functions and types, unchanged since NumPy 1.7."""


in_llvm = LLVM_THREADS[0].call
"""Call a function in the LLVM thread that loads and frees code; see `LlvmThread.call`."""


class Code(np.ndarray[Any, Any]):
    """Machine code in memory, which is freed with this object.

    The base class is NumPy's array, whose entries Python's garbage collector does not visit.
    In a dead reference cycle, the collector would clear any other container, although a finalizer
    of the cycle may still call the code. Instances are hashable for use in `ENGINES`.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    @classmethod
    def of(cls, addresses: Mapping[str, int], *owned: Any) -> "Code":
        """Return code with functions at `addresses`; the `owned` objects live as long as the code.

        The last entry is reserved for `cpu.join`.
        """
        code = cls(2 + len(owned), dtype=object)
        for k, thing in enumerate((addresses, *owned)):
            code[k] = thing
        return code

    @property
    def addresses(self) -> dict[str, int]:
        return cast("dict[str, int]", self[0])


ENGINES: dict[ref[Code], Any] = {}
"""Weak reference to each live `Code` -> the LLVM engine of the code."""
RELEASED: deque[ref[Code]] = deque()
"""References to dead `Code` objects, whose engines are freed before the next code is loaded."""


ARCHITECTURES = {
    "x86-64-v2": "+sse4.2,+popcnt",
    "sandybridge": "+sse4.2,+popcnt,+avx",
    "x86-64-v3": "+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+movbe",
}
"""Older processor that $ARMLET_CPU may name -> LLVM features that code for this processor uses."""


class Cpu(NamedTuple):
    """LLVM's target triple, name and features of a processor."""

    triple: str
    name: str
    features: str


@functools.cache
def cpu() -> Cpu:
    """Return the processor to compile for: this one, or the older one that $ARMLET_CPU names."""
    here, name = in_llvm(_start), os.environ.get("ARMLET_CPU")
    if not name:
        return here
    has = set(here.features.split(","))
    runs = {
        x: features for x, features in ARCHITECTURES.items() if has.issuperset(features.split(","))
    }
    if name not in runs:
        raise CompileError(
            f"ARMLET_CPU is {quote(name)}: expected a processor whose code runs on this one "
            f"({listing(list(runs)) or 'there is none'}); without it code is for this processor"
        )
    return Cpu(here.triple, name, runs[name])


def _start() -> Cpu:
    """Initialise LLVM, define the symbols of NumPy and CPython, and return this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name, address in _symbols().items():
        llvm.add_symbol(name, address)
    features = ""
    with suppress(RuntimeError):  # on some systems LLVM cannot list the features
        features = llvm.get_host_cpu_features().flatten()
    return Cpu(llvm.get_default_triple(), llvm.get_host_cpu_name(), features)


def add_symbols(addresses: Mapping[str, int]) -> None:
    """Define symbols, name -> address, for code that is loaded from now on."""
    for name, address in addresses.items():
        in_llvm(llvm.add_symbol, name, address)


def machine(effort: int = 3) -> Any:
    """Return a new LLVM target machine for `cpu()`; an engine takes ownership of its machine."""
    here = cpu()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=here.name, features=here.features, opt=effort, jit=True
    )


def host(dtype: str) -> Target:
    """Return the target with the widest vectors of the processor `cpu()`."""
    has = set(cpu().features.split(","))
    lanes = 8 if "+avx512f" in has else 4 if "+avx2" in has else 2
    fuses = "+fma" in has or not cpu().triple.startswith(("x86", "amd64", "i"))
    return Target(dtype, lanes * (2 if dtype == "float32" else 1), fuses)


def compile_ir(text: str, *functions: str, callees: Sequence[str] = ()) -> Code:
    """Return the machine code of the module `text`, with the addresses of `functions`.

    Machine code is cached on disk. `callees` are further modules, whose functions `text` may call.
    They are compiled in parallel and cached one by one: an interrupt loses only unfinished ones.
    """
    objects = _compile_callees(callees)
    key = _key(text)
    code = in_llvm(_load_cached, key, functions, objects)
    if code is None:
        lines = text.count("\n")
        with status(f"compiling {lines} lines for this machine", quick=lines < LONG):
            code = in_llvm(_compile_and_load, key, text, functions, objects)
    return code


def _key(text: str) -> str:
    return cache.key(version.__version__, str(llvmlite.__version__), "\0".join(cpu()), text)


def _compile_callees(texts: Sequence[str]) -> list[bytes]:
    """Return the object files of modules; show the progress if compilation takes long."""
    if not texts:
        return []
    cpu()  # first here: in an LLVM thread, `cpu` would wait for another LLVM thread
    objects: dict[int, bytes] = {}
    with advancing(f"compiling {len(texts)} modules for this machine") as to:
        for k, data in map_unordered(lambda k: _object(texts[k]), len(texts)):
            objects[k] = data
            to(len(objects) / len(texts))
    return [objects[k] for k in range(len(texts))]


def _object(text: str) -> bytes:
    """Return the object file of a callee, from the cache or compiled now.

    Optimisation level 1 compiles in a quarter less time, and callees run no slower.
    """
    key = _key(text)
    data = cache.load(key)
    if data is None:
        data = _emit(text, 1)
        cache.save(key, data)
    return data


def _load_cached(key: str, functions: Sequence[str], callees: Sequence[bytes]) -> Code | None:
    """Load a cached module together with its callees; return None if this is impossible."""
    data = cache.load(key)
    if data is not None:
        with suppress(CompileError):
            return _load((data, *callees), functions)
    return None


def _compile_and_load(
    key: str, text: str, functions: Sequence[str], callees: Sequence[bytes]
) -> Code:
    data = _emit(text)
    code = _load((data, *callees), functions)
    cache.save(key, data)
    return code


def _emit(text: str, effort: int = 3) -> bytes:
    """Return the object file of a module, compiled at LLVM optimisation level `effort`."""
    target = machine(effort)
    module = _parse(text, target)
    with ffi.OutputString() as message:
        buffer = _unlocked_emit()(target, module, True, message)
        if not buffer:
            raise CompileError(f"LLVM does not compile the program: {message}")
    try:
        start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _unlocked_emit() -> Callable[..., Any]:
    """Return llvmlite's function that emits an object file, without llvmlite's lock.

    With the lock, threads would compile one after the other, although modules share no state.
    """
    emit: Any = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    with suppress(AttributeError, OSError):
        function = ctypes.CDLL(ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
        function.argtypes, function.restype = emit.argtypes, emit.restype
        emit = function
    return cast("Callable[..., Any]", emit)


def _parse(text: str, target: Any) -> Any:
    """Parse and verify the text of a module, and inline functions marked `alwaysinline`."""
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the program: {error}") from None
    inline = llvm.create_new_module_pass_manager()
    inline.add_always_inliner_pass()
    inline.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    return module


def _load(objects: Sequence[bytes], functions: Sequence[str]) -> Code:
    """Load object files together; return their code with the addresses of `functions`."""
    free_released()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    for data in objects:
        file = llvm.ObjectFileRef.from_data(data)
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


def free_released() -> None:
    """Free the LLVM engines of dead `Code` objects; call this in the thread that loads code."""
    while RELEASED:
        del ENGINES[RELEASED.popleft()]


def _symbols() -> dict[str, int]:
    """Return symbol -> address, for the NumPy and Python objects that compiled entries use."""
    core = "numpy._core" if hasattr(np, "_core") else "numpy.core"
    capsule = import_module(f"{core}._multiarray_umath")._ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.POINTER(ctypes.c_void_p)
    pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = pointer(capsule, None)
    return {
        "armlet_new_array": int(table[NEW_FROM_DESCRIPTOR] or 0),
        "armlet_array_type": int(table[ARRAY_TYPE] or 0),
        **{f"armlet_{name}": id(np.dtype(name)) for name in ("float64", "float32")},
        **{f"armlet_{x.__name__}": id(x) for x in (str, list, tuple, float, int)},
        "armlet_none": id(None),
        "armlet_true": id(True),
        "armlet_dead": id(ReferenceError),
    }
