"""A loop around a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from armlet.errors import CompileError
from armlet.graph.program import Program


@dataclass(frozen=True)
class Loop:
    """A program that is run step after step, with some of its outputs as inputs of the next step.

    A simulation carries positions and velocities, a fit the sums over its data, a controller the
    cost of what it tries.

    The loop is run for one start or for many. An input that is carried starts with the value that
    a run is given. The others have a value for every step and every run, for every step, for every
    run, or one for all, as their rate says: "state", "step", "run" or "once".

    Parameters
    ----------
    body : Program
        One step.
    carried : mapping of int to str
        Outputs by their place, and the inputs that they are in the next step.
    recorded : sequence of int
        Outputs by their place that have rows, each for as many steps as a call asks for: it is what
        the last of them gave. Of the other outputs, what the last step of all gave is left.
    period : int, optional
        After how many rows the inputs that change with every step, and what is recorded, begin
        again with the first; by default there are as many as steps.
    """

    body: Program
    carried: Mapping[int, str] = field(default_factory=dict)
    recorded: Sequence[int] = ()
    period: int | None = None

    def __post_init__(self) -> None:
        outputs, name = self.body.outputs, self.body.name
        for k in (*self.carried, *self.recorded):
            if k not in range(len(outputs)):
                raise CompileError(f"{name} has no output {k}: expected one of {len(outputs)}")
        for k, x in self.carried.items():
            if x not in self.body.inputs:
                raise CompileError(
                    f"{name} has no input {x!r} to carry output {k} to: expected one of "
                    f"{', '.join(self.body.inputs)}"
                )
            if outputs[k].shape != self.body.inputs[x].shape:
                raise CompileError(
                    f"output {k} of {name} has shape {outputs[k].shape}, and input {x!r}, which it "
                    f"is carried to, {self.body.inputs[x].shape}: expected the same"
                )
        if len(set(self.carried.values())) < len(self.carried):
            raise CompileError(f"two outputs of {name} are carried to one input: expected one")
        if self.period is not None and self.period < 1:
            raise CompileError(f"the period of {name} is {self.period}: expected 1 or more")
