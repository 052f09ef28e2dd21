"""Calls from Python to compiled entries, as built-in functions or by the vectorcall protocol."""

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from armlet.codegen.entry.objects import (
    ARRAY,
    OWNED,
    SHARED,
    SLOT,
    SPARES,
    shared_functions,
    shared_name,
)
from armlet.codegen.entry.python import dispatcher
from armlet.runtime.engine import Code, add_symbols, compile_ir

C = TypeVar("C", bound=type)
C_TYPES: dict[str, Any] = {"i32": ctypes.c_int32, "ptr": ctypes.c_void_p}
FASTCALL_KEYWORDS = 0x0080 | 0x0002
INT, TEXT, POINTER = ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p


def structure(**fields: Any) -> Any:
    """Return the ctypes type of a C structure with these fields."""
    return type("Structure", (ctypes.Structure,), {"_fields_": [*fields.items()]})


ArrayObject = structure(**{name: C_TYPES[kind] for name, kind in ARRAY.items()})
"""NumPy's C structure of an array."""
MethodDefinition = structure(name=TEXT, function=POINTER, flags=INT, doc=TEXT)
"""CPython's PyMethodDef."""
TypeSlot = structure(slot=INT, value=POINTER)
"""CPython's PyType_Slot."""
TypeSpec = structure(
    name=TEXT, size=INT, item_size=INT, flags=ctypes.c_uint, slots=ctypes.POINTER(TypeSlot)
)
"""CPython's PyType_Spec."""
Member = structure(name=TEXT, kind=INT, offset=ctypes.c_ssize_t, flags=INT, doc=TEXT)
"""CPython's PyMemberDef."""


@functools.cache
def reads_arrays() -> bool:
    """Whether this Python and NumPy lay out arrays in memory as compiled entries expect."""
    array = np.zeros((2, 3))
    fields = ArrayObject.from_address(id(array))
    return (
        fields.references == sys.getrefcount(array) - 1
        and fields.type == id(np.ndarray)
        and fields.data == array.ctypes.data
        and fields.rank == array.ndim
        and fields.descriptor == id(np.dtype(np.float64))
        and fields.flags & OWNED == OWNED
        and fields.base is None
        and fields.weakrefs is None
        and tuple((ctypes.c_int64 * 2).from_address(fields.dimensions)) == array.shape
        and tuple((ctypes.c_int64 * 2).from_address(fields.strides)) == array.strides
    )


def address(array: Any) -> int:
    """Return the address of an array's entries, faster than `array.ctypes.data`."""
    if not reads_arrays():
        return int(array.__array_interface__["data"][0])
    return ctypes.c_size_t.from_address(id(array) + ArrayObject.data.offset).value


class Callee(tuple[Any, ...]):
    """The `self` of a compiled entry: a tuple that begins with the items of `objects.PLACES`."""

    __slots__ = ()

    @classmethod
    def of(
        cls,
        fallback: Callable[..., Any],
        inputs: Sequence[str],
        option: str,
        entries: dict[Any, Any],
        code: Code,
        results: type[tuple[Any, ...]] = tuple,
    ) -> "Callee":
        """Return the `self` of a compiled entry, which keeps the entry's code alive."""
        names = (*inputs, "out", *([option] if option else []))
        interned = tuple(map(sys.intern, names))
        return cls((fallback, interned, entries, [None] * SPARES, ("out",), results, code))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the robot or kernel, since CPython pickles entries as getattr(self, name)."""
        return _itself, (self[0].__self__,)


def _itself(x: Any) -> Any:
    return x


SHARED_CODE: dict[str, Code] = {}
"""dtype -> code that all entries of the dtype call; its symbols are defined in LLVM."""
NEVER_FREED: list[Code] = []
"""All code from `share`, kept alive: two concurrent calls may compile code for a dtype twice."""


def share(dtype: str) -> None:
    """Compile, once per dtype, the functions that its entries share; define their symbols."""
    if dtype not in SHARED_CODE:
        names = [shared_name(name, dtype) for name in SHARED]
        code = compile_ir(shared_functions(dtype), *names)
        NEVER_FREED.append(code)
        add_symbols(code.addresses)
        SHARED_CODE[dtype] = code


def fast_call(code: Code, name: str, callee: Callee, doc: str) -> Callable[..., Any]:
    """Return a built-in Python function that calls the entry of `code` and keeps the code alive.

    The function's `__module__` is a string, as PyTorch's compiler expects.
    """
    definition = MethodDefinition(
        name.encode(), code.addresses["entry"], FASTCALL_KEYWORDS, doc.encode()
    )
    owner = Callee((*callee, Code.of(code.addresses, code, definition)))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return cast("Callable[..., Any]", new(ctypes.addressof(definition), owner, "armlet"))


def dispatcher_call(
    name: str,
    fallback: Callable[..., Any],
    inputs: Sequence[str],
    option: str,
    entries: dict[Any, Any],
    doc: str,
) -> Callable[..., Any]:
    """Return a compiled function that calls `entries[value of option]`, or else `fallback`."""
    if not reads_arrays():
        return fallback
    share("float64")
    code = compile_ir(dispatcher(len(inputs)), "entry")
    return fast_call(code, name, Callee.of(fallback, inputs, option, entries, code), doc)


def join(one: Code, many: Code) -> None:
    """Let the entry in `one` call the code `many` for batches of states, and keep `many` alive."""
    one[-1] = many
    ctypes.c_void_p.from_address(one.addresses["many_states"]).value = many.addresses["many"]


# ------------------------------------------------------------------ callable objects


MEMBERS, SIGNED_SIZE, READ_ONLY = 72, 19, 1
SUBCLASSABLE, VECTORCALL, DEFAULT = 1 << 10, 1 << 11, 1 << 18


def vectorcalled(cls: C) -> C:
    """Return a subclass of `cls` whose instances can have a compiled function as `__call__`.

    Only instances of types made by CPython's PyType_FromSpec can have such a function (PEP 590).
    Instances without a compiled function, and instances of subclasses, call the Python method.
    `cls` must have the slot `callee`, and no other slots but `__dict__` and `__weakref__`.
    """
    offset = cls.__basicsize__
    members = (Member * 2)(Member(b"__vectorcalloffset__", SIGNED_SIZE, offset, READ_ONLY))
    slots = (TypeSlot * 2)(TypeSlot(MEMBERS, ctypes.addressof(members)))
    size = offset + ctypes.sizeof(ctypes.c_void_p)
    name = f"{cls.__module__}.{cls.__qualname__}".encode()
    spec = TypeSpec(name, size, 0, SUBCLASSABLE | VECTORCALL | DEFAULT, slots)
    new = ctypes.pythonapi.PyType_FromSpecWithBases
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object)
    subclass: Any = new(ctypes.addressof(spec), (cls,))
    subclass.__doc__, subclass._vectorcall = cls.__doc__, offset
    return cast("C", subclass)


def connect(thing: Any, callee: Callee, code: Code) -> bool:
    """Make `code` the `__call__` of a `vectorcalled` instance; return False on failure."""
    thing.callee = callee
    if ctypes.c_void_p.from_address(id(thing) + SLOT).value != id(callee):
        return False
    there = id(thing) + type(thing)._vectorcall
    ctypes.c_void_p.from_address(there).value = code.addresses["vectorcall"]
    return True
