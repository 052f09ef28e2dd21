"""Loops around programs as LLVM IR: what is carried stays in registers."""

from collections.abc import Iterable

from armlet.codegen.llvm import (
    Body,
    Loaded,
    Target,
    arguments_of,
    loaded_entries,
    stored_entries,
)
from armlet.codegen.lower import Lowered
from armlet.graph import Loop


def counted_loop(
    pointers: Iterable[str],
    steps: Iterable[str],
    before: Iterable[str] = (),
    after: Iterable[str] = (),
) -> str:
    """void @loop(ptr …, i64 count): steps, so many times, number %i from 0.

    The first steps may be phi nodes, by what was so at %begin and by the last turn, at %turned.
    """
    arguments = ", ".join([*(f"ptr noalias %{name}" for name in pointers), "i64 %count"])
    return "\n".join(
        [
            f"define void @loop({arguments}) #0 {{",
            "entry:",
            *before,
            "br label %begin",
            "begin:",
            "br label %turn",
            "turn:",
            "%i = phi i64 [ 0, %begin ], [ %next, %turned ]",
            *steps,
            "br label %turned",
            "turned:",
            "%next = add i64 %i, 1",
            "%last = icmp eq i64 %next, %count",
            "br i1 %last, label %done, label %turn",
            "done:",
            *after,
            "ret void",
            "}",
        ]
    )


def looped(loop: Loop, code: Lowered, target: Target) -> str:
    """void @loop(ptr in…, ptr out…, i64 steps): a loop around a lowered program, 1 step or more.

    What is given once is to be lowered so, unless it is carried: it is read before the loop.
    """
    inputs, outputs = arguments_of(code)
    F = target.element
    sources = {name: k for k, name in loop.carried.items()}
    before: list[str] = []
    steps: list[str] = []
    loaded: Loaded = {}
    starts: dict[tuple[str, int], tuple[str, str]] = {}
    for name, x in inputs.items():
        if x.name in sources:
            first = loaded_entries(x, name, name, F, before)
            carried = {(x.name, k): f"%{name}.c{k}" for k in range(x.size)}
            starts |= {entry: (carried[entry], first[entry]) for entry in carried}
            loaded |= carried
        elif x.rate == "once":
            loaded |= loaded_entries(x, name, name, F, before)
        else:
            number = "%i"
            if loop.period is not None:
                number = f"%{name}.k"
                steps.append(f"{number} = urem i64 %i, {loop.period}")
            row = _row(name, number, x.size, F, steps)
            loaded |= loaded_entries(x, row, name, F, steps)
    body = Body(code, target, 1, before)
    body.print(loaded, 0, code.start)
    body.lines = steps
    body.print(loaded, code.start, len(code.operations))
    values = list(body.outputs())
    for place, name in enumerate(outputs):
        row = name
        if place in loop.recorded:
            steps.append(f"%{name}.k = udiv i64 %i, {loop.recorded[place]}")
            row = _row(name, f"%{name}.k", len(values[place]), F, steps)
        stored_entries(values[place], row, name, F, steps)
    phis = [
        f"{here} = phi {F} [ {start}, %begin ], [ {values[sources[name]][k]}, %turned ]"
        for (name, k), (here, start) in starts.items()
    ]
    return counted_loop((*inputs, *outputs), [*phis, *steps], before)


def _row(name: str, number: str, size: int, element: str, lines: list[str]) -> str:
    """The name of a pointer to a row of an array."""
    lines += [
        f"%{name}.at = mul i64 {number}, {size}",
        f"%{name}.row = getelementptr {element}, ptr %{name}, i64 %{name}.at",
    ]
    return f"{name}.row"
