"""Types, constants and calls of LLVM IR, for one number or a vector of numbers."""

import struct
from collections.abc import Sequence

BYTES = {"double": 8, "float": 4}


def vector_type(element: str, lanes: int) -> str:
    """Return the type of a vector of `lanes` numbers, or of a single number if `lanes` is 1."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def type_suffix(element: str, lanes: int) -> str:
    """Return the suffix of LLVM intrinsics for a vector of `lanes` numbers, such as v8f64."""
    number = f"f{8 * BYTES[element]}"
    return number if lanes == 1 else f"v{lanes}{number}"


def pair_type(V: str) -> str:
    """Return the type of a pair of vectors of type `V`."""
    return f"{{ {V}, {V} }}"


def bits(x: float) -> str:
    """Return the exact hexadecimal notation of a double or single in LLVM IR."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def splat(element: str, value: str, lanes: int) -> str:
    """Return a constant with the same value in every lane."""
    return value if lanes == 1 else "<" + ", ".join([f"{element} {value}"] * lanes) + ">"


def broadcast(out: str, first: str, value: str, element: str, lanes: int) -> list[str]:
    """Return the lines that copy `value` into every lane of the vector `out`."""
    V = vector_type(element, lanes)
    return [
        f"{first} = insertelement {V} poison, {element} {value}, i32 0",
        f"{out} = shufflevector {V} {first}, {V} poison, <{lanes} x i32> zeroinitializer",
    ]


def library_call(op: str, operands: Sequence[str], out: str, element: str, lanes: int) -> list[str]:
    """Return the lines that call a function of the C library for one lane after the other."""
    F, T = element, vector_type(element, lanes)
    function = op if F == "double" else f"{op}f"
    if lanes == 1:
        arguments = ", ".join(f"{F} {x}" for x in operands)
        return [f"{out} = call {F} @{function}({arguments})"]
    lines, filled = [], "poison"
    for lane in range(lanes):
        here = f"{out}.{lane}"
        arguments = ", ".join(f"{F} {here}.x{k}" for k in range(len(operands)))
        new = out if lane == lanes - 1 else f"{here}.all"
        lines += [
            *(f"{here}.x{k} = extractelement {T} {x}, i32 {lane}" for k, x in enumerate(operands)),
            f"{here} = call {F} @{function}({arguments})",
            f"{new} = insertelement {T} {filled}, {F} {here}, i32 {lane}",
        ]
        filled = new
    return lines
