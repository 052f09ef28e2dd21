"""The entry point from XLA, the compiler of JAX, to a kernel, in LLVM IR.

XLA passes a call frame with the addresses of arguments and results to `@xla` (XLA's C API for
custom calls, a stable binary interface). On registration, XLA calls `@xla` to ask for the version
of this API that `@xla` implements. `@xla` returns null, which means no error.
"""

from armlet.codegen.llvm.function import Target, Texts, modules
from armlet.codegen.llvm.split import many_states_texts, one_state_texts
from armlet.codegen.lower import Lowered
from armlet.codegen.templates import read_blocks

IR = read_blocks("xla.ll")


def xla_entry(code: Lowered, target: Target, at_once: bool) -> tuple[str, Texts]:
    """Return the LLVM IR module of @xla, and the modules of the functions that @xla calls.

    If `at_once`, @xla computes at least `target.lanes` rows together; otherwise, row by row.
    """
    functions = many_states_texts if at_once else one_state_texts
    texts = modules(target, functions(code, target))
    places = [("arguments", k) for k in range(len(code.inputs))]
    places += [("results", k) for k in range(len(code.outputs))]
    pointers = (IR["pointer"](i=i, kind=kind, k=k) for i, (kind, k) in enumerate(places))
    if at_once:
        all_rows = ", ".join(f"ptr %p{i}" for i in range(len(places)))
        run = f"call void @many({all_rows}, i64 0, i64 %rows)"
    else:  # call @one for each row; pointers to inputs of rate "once" do not move
        moves = [*(x.rate == "state" for x in code.inputs.values()), *(True for _ in code.outputs)]
        sizes = [size * moving for size, moving in zip(code.sizes, moves, strict=True)]
        steps = (IR["place"](k=k, size=size, F=target.element) for k, size in enumerate(sizes))
        one_row = ", ".join(f"ptr %p{k}.here" for k in range(len(sizes)))
        run = IR["row_by_row"](places=steps, pointers=one_row)
    first, rank = len(code.inputs), len(code.outputs[0].shape)
    entry = IR["entry"](pointers=pointers, first=first, rank=rank, run=run)
    return texts[0] + entry, texts[1:]
