"""Print loops as LLVM IR: carried values are in registers, and each vector lane has its own run."""

from armlet.codegen.llvm.function import (
    Body,
    Loaded,
    Target,
    arguments_of,
    function,
    load_entries,
    over_rows,
    pointers_of,
    store_entries,
)
from armlet.codegen.llvm.transpose import load_columns, store_columns
from armlet.codegen.llvm.types import broadcast, vector_type
from armlet.codegen.lower import Lowered
from armlet.codegen.templates import read_blocks
from armlet.graph import Input, Loop

IR = read_blocks("loop.ll")
SCALARS = ("runs", "from", "to", "first", "steps", "every")
"""Integer arguments of a loop, after the pointers.

The arrays hold `runs` runs, of which runs `from` to `to` - 1 are computed. The first step has the
index `first`. There are `steps` steps, and `every` steps per recorded row, both at least 1.
"""


def loop_function(loop: Loop, code: Lowered, target: Target, lanes: int = 1) -> str:
    """Return LLVM IR of `void @loop(ptr in…, ptr out…, i64 …)`, which computes runs of a loop.

    The last arguments are SCALARS. At least as many runs as lanes must be computed. The last vector
    may compute some runs again, so results must not overwrite the initial values of carried inputs.
    In `code`, the lowered body, inputs that are the same in all steps must have the rate "once".
    """
    text = _Text(loop, code, target, lanes)
    pointers, outputs = arguments_of(code)
    inputs = {name: loop.body.inputs[x.name] for name, x in pointers.items()}
    for name, x in inputs.items():
        text.load_before(name, x)
    text.body.print(text.loaded, 0, code.start)
    before = text.take_lines()
    for name, x in inputs.items():
        text.load_within(name, x)
    text.body.print(text.loaded, code.start, len(code.operations))
    values = list(text.body.outputs())
    for place in sorted(loop.recorded):
        text.record(f"out{place}", values[place])
    within = text.take_lines()
    for place, name in enumerate(outputs):
        if place not in loop.recorded:
            text.store(name, name, values[place])
    after = text.take_lines()
    every_stage = IR["loop"](
        stages=loop.stages, before=before, phis=text.phis(values), within=within, after=after
    )
    arguments = [*pointers_of(code), *(f"i64 %{name}" for name in SCALARS)]
    lines = ["entry:", *over_rows([every_stage], lanes), "ret void"]
    return function("loop", arguments, lines)


class _Text:
    """LLVM IR of a loop over steps, for runs %i, %i + 1, …, one per lane; methods append lines."""

    def __init__(self, loop: Loop, code: Lowered, target: Target, lanes: int) -> None:
        self.loop, self.lanes, self.F = loop, lanes, target.element
        self.V = vector_type(self.F, lanes)
        self.lines: list[str] = []
        self.loaded: Loaded = {}
        self.starts: Loaded = {}
        self.body = Body(code, target, lanes, self.lines)
        self.sources = {name: place for place, name in loop.carried.items()}

    def take_lines(self) -> str:
        text = "\n".join(self.lines)
        self.lines.clear()
        return text

    def load_before(self, name: str, x: Input) -> None:
        """Before the loop, load an input if it is carried or the same in all steps."""
        if x.name in self.sources:
            self.starts |= self._of_runs(name, name, x)
            self.loaded |= {
                entry: f"%{name}.x{entry[1]}" for entry in self.starts if entry[0] == x.name
            }
        elif x.rate == "run":
            self.loaded |= self._of_runs(name, name, x)
        elif x.rate == "once":
            self.loaded |= self._of_all(name, name, x)

    def load_within(self, name: str, x: Input) -> None:
        """Inside the loop, load an input if it changes with the steps or stages."""
        if x.name in self.sources or x.rate in ("run", "once"):
            return
        number = "%stage" if x.rate == "stage" else "%step"
        if self.loop.period is not None and x.rate != "stage":
            number = f"%{name}.k"
            self.lines.append(f"{number} = urem i64 %step, {self.loop.period}")
        size, pointer = f"{x.size}", f"{name}.here"
        if x.rate == "state":
            size = f"%{name}.size"
            self.lines.append(f"{size} = mul i64 %runs, {x.size}")
        self._move(name, pointer, number, size)
        read = self._of_runs if x.rate == "state" else self._of_all
        self.loaded |= read(pointer, name, x)

    def record(self, name: str, entries: list[str]) -> None:
        """Store an output as a row, after the last step of the row or of the loop."""
        last = self.loop.stages - 1
        self.lines.append(IR["record"](name=name, last_stage=last, size=len(entries)))
        row, size = f"%{name}.row", f"%{name}.size"
        if self.loop.period is not None:
            self.lines.append(f"{row}.again = urem i64 {row}, {self.loop.period}")
            row = f"{row}.again"
        self._move(name, f"{name}.rows", row, size)
        self.store(f"{name}.rows", name, entries)
        self.lines += [f"br label %{name}.go_on", f"{name}.go_on:"]

    def store(self, pointer: str, name: str, entries: list[str]) -> None:
        if self.lanes > 1:
            store_columns(pointer, entries, self.F, self.lanes, self.lines)
            return
        self._move(pointer, f"{pointer}.run", "%i", f"{len(entries)}")
        store_entries(entries, f"{pointer}.run", name, self.F, self.lines)

    def phis(self, values: list[list[str]]) -> list[str]:
        """Return the phi nodes of carried inputs, each an initial value or a previous result."""
        return [
            f"{self.loaded[name, k]} = phi {self.V} [ {start}, %begun ], "
            f"[ {values[self.sources[name]][k]}, %turned ]"
            for (name, k), start in self.starts.items()
        ]

    def _of_runs(self, pointer: str, name: str, x: Input) -> Loaded:
        """Load an input that has one row per run; return one vector per entry."""
        if self.lanes > 1:
            columns = load_columns(pointer, x.size, self.F, self.lanes, self.lines)
            return {(x.name, k): column for k, column in enumerate(columns)}
        self._move(pointer, f"{pointer}.run", "%i", f"{x.size}")
        return load_entries(x, f"{pointer}.run", name, self.F, self.lines)

    def _of_all(self, pointer: str, name: str, x: Input) -> Loaded:
        """Load an input that is the same for all runs; return one vector per entry."""
        loaded = load_entries(x, pointer, name, self.F, self.lines)
        if self.lanes == 1:
            return loaded
        for entry, value in loaded.items():
            every = f"{value}.every"
            self.lines += broadcast(every, f"{value}.first", value, self.F, self.lanes)
            loaded[entry] = every
        return loaded

    def _move(self, pointer: str, moved: str, number: str, size: str) -> None:
        """Set %`moved` to %`pointer` advanced by `number` arrays of `size` entries each."""
        self.lines += [
            f"%{moved}.at = mul i64 {number}, {size}",
            f"%{moved} = getelementptr {self.F}, ptr %{pointer}, i64 %{moved}.at",
        ]
