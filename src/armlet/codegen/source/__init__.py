"""Print programs as source code: C, C++ and CUDA for compilers, other notations for people."""

from armlet.codegen.source.assignments import assignments
from armlet.codegen.source.c import LANGUAGES, identifier, print_function
from armlet.codegen.source.readable import NOTATIONS, sympy_formulas
from armlet.errors import CompileError
from armlet.graph import Program

__all__ = ["source", "sympy_formulas"]


def source(
    program: Program, target: str, name: str | None, dtype: str, fused: bool | None, sines: str
) -> str:
    """Return a program as source code for a target; `Program.source` documents the options."""
    name = name or program.name
    if target in LANGUAGES:
        return print_function(program, name, target, dtype, fused, sines)
    if target not in NOTATIONS:
        targets = ", ".join((*LANGUAGES, *NOTATIONS))
        raise CompileError(f"target is {target!r}: expected one of {targets}")
    for option, value, default in (
        ("dtype", dtype, "float64"),
        ("fused", fused, None),
        ("sines", sines, "library"),
    ):
        if value != default:
            raise CompileError(
                f"{option} is {value!r}: the target {target!r} does not take it; leave it out, or "
                "print C, C++ or CUDA"
            )
    word = name if target in ("listing", "latex") else identifier(name)
    return NOTATIONS[target](assignments(program), word, program.count())
