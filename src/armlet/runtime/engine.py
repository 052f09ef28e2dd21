"""LLVM in process: IR text to machine code."""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from armlet.codegen.llvm import Target
from armlet.errors import CompileError

NEW_FROM_DESCRIPTOR, ARRAY_TYPE = 94, 2
"""Places in NumPy's table of functions, fixed since NumPy 1.7."""


class Code:
    """Machine code in memory, kept as long as this object lives."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.kept: list[Any] = []
        """What must live as long as the code."""

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name))


@cache
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


def compiled(text: str) -> Code:
    """The machine code of a module."""
    target = machine()
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the program: {error}") from None
    inline = llvm.create_new_module_pass_manager()
    inline.add_always_inliner_pass()
    inline.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return Code(engine)


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


FASTCALL_KEYWORDS = 0x0080 | 0x0002


def fast_call(code: Code, name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The entry in compiled code as a function of Python's own kind, which keeps the code."""
    definition = MethodDefinition(name.encode(), code.address("entry"), FASTCALL_KEYWORDS, None)
    code.kept.append(definition)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    function: Callable[..., Any] = new(ctypes.addressof(definition), otherwise, code)
    return function


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
