"""Callable objects that run compiled code by CPython's vectorcall protocol; addresses of arrays."""

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar, cast

import numpy as np

from armlet.codegen.entry.objects import ARRAY, OWNED, PLACES, SLOT, SPARES

C = TypeVar("C", bound=type)
C_TYPES: dict[str, Any] = {"i32": ctypes.c_int32, "ptr": ctypes.c_void_p}
INT, TEXT, POINTER = ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p


def structure(**fields: Any) -> Any:
    """Return the ctypes type of a C structure; `fields` maps names to ctypes types."""
    return type("Structure", (ctypes.Structure,), {"_fields_": [*fields.items()]})


ArrayObject = structure(**{name: C_TYPES[kind] for name, kind in ARRAY.items()})
"""NumPy's C structure of an array."""
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


# ------------------------------------------------------------------ callable objects


MEMBERS, SIGNED_SIZE, READ_ONLY = 72, 19, 1
SUBCLASSABLE, VECTORCALL, DEFAULT = 1 << 10, 1 << 11, 1 << 18


def vectorcalled(cls: C) -> C:
    """Return a subclass of `cls` whose instances can have a compiled function as `__call__`.

    Only instances of types made by CPython's PyType_FromSpec can have such a function (PEP 590).
    Instances without a compiled function, and instances of subclasses, run `__call__` of `cls`.
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


def connect(
    thing: Any,
    code: Any,
    inputs: Sequence[str],
    option: str,
    entries: dict[Any, Any] | None,
    results: type[tuple[Any, ...]] = tuple,
) -> bool:
    """Make `code` the `__call__` of a `vectorcalled` instance; return False if impossible.

    Calls that `code` refuses run `thing._fallback`. The tuple `thing.callee`, which compiled code
    receives as `%self`, has the items of `objects.PLACES`, then `code`, then the previous tuple:
    another thread may still be running the previous code.
    """
    cls, previous = type(thing), getattr(thing, "callee", None)
    if "_vectorcall" not in vars(cls) or not reads_arrays():
        return False
    if previous is not None and previous[len(PLACES)] is code:
        return True
    names = tuple(map(sys.intern, (*inputs, "out", *([option] if option else []))))
    places = (
        thing._fallback,
        names,
        {} if entries is None else entries,
        [None] * SPARES,
        ("out",),
        results,
    )
    thing.callee = callee = (*places, code, previous)
    if ctypes.c_void_p.from_address(id(thing) + SLOT).value != id(callee):
        return False
    there = id(thing) + cls._vectorcall
    ctypes.c_void_p.from_address(there).value = code.addresses["vectorcall"]
    return True


@vectorcalled
class Entry:
    """A function that runs compiled code once it is connected, and a Python function until then.

    An entry has the name, the docstring and the signature of the Python function.
    """

    __slots__ = ("__dict__", "__weakref__", "callee")
    __call__ = property(attrgetter("_fallback"))

    def __init__(self, function: Callable[..., Any]) -> None:
        self._fallback: Any = function
        functools.update_wrapper(self, function)

    def __get__(self, thing: object, _: type | None = None) -> "Entry":
        """Return the entry itself: as a class attribute, an entry does not become a method."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, as Python's bound methods are pickled."""
        return getattr, (self._fallback.__self__, self._fallback.__name__)

    def __repr__(self) -> str:
        return repr(self._fallback)
