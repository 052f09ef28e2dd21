"""A loop around a program, and its derivatives, which are loops as well."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from armlet.errors import CompileError
from armlet.graph.differentiate import along, weighted
from armlet.graph.evaluate.namespaces import objects
from armlet.graph.graph import Graph
from armlet.graph.inputs import added
from armlet.graph.program import Program, program


@dataclass(frozen=True)
class Loop:
    """A program that is run step after step, with some of its outputs as inputs of the next step.

    A simulation carries positions and velocities, a fit the sums over its data, a controller the
    cost of what it tries.

    The loop is run for one start or for many. An input that is carried starts with the value that
    a run is given. The others have a value for every step and every run, for every step, for every
    run, or one for all, as their rate says: "state", "step", "run" or "once".

    A step may be the body done several times, stage after stage, with inputs that have a value for
    each stage ("stage"): code that is short enough is read by the machine without waiting.

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
    stages : int
        How often the body is done in a step.
    """

    body: Program
    carried: Mapping[int, str] = field(default_factory=dict)
    recorded: Sequence[int] = ()
    period: int | None = None
    stages: int = 1

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
        for what, count in (("period", self.period), ("number of stages", self.stages)):
            if count is not None and count < 1:
                raise CompileError(f"the {what} of {name} is {count}: expected 1 or more")

    def jvp(self, names: Collection[str]) -> "Loop":
        """The loop that carries derivatives along directions beside the values.

        Parameters
        ----------
        names : collection of str
            The inputs, not carried, that move, too: what is carried always does.

        Returns
        -------
        Loop
            Its body has one more input for each that moves, the direction, called "direction_" and
            its name; its outputs are those of this loop, and then their derivatives in that order.
        """
        outputs, inputs = self.body.outputs, self.body.inputs
        graph, flat = self._copied()
        moving = [inputs[name] for name in (*self.carried.values(), *names)]
        directions = added(inputs, "direction", moving)
        moved = {
            graph.input(old.name, k).index: graph.input(new.name, k)
            for old, new in zip(moving, directions, strict=True)
            for k in range(old.size)
        }
        values = iter([*flat, *along(graph, flat, moved)])
        shaped = [objects([next(values) for _ in y.flat], y.shape) for y in (*outputs, *outputs)]
        body = program(
            f"jvp of {self.body.name}", {**inputs, **{x.name: x for x in directions}}, shaped, False
        )
        count = len(outputs)
        later = {
            count + k: x.name for k, x in zip(self.carried, directions, strict=False)
        }  # the first directions are those of what is carried
        recorded = [*self.recorded, *(count + k for k in self.recorded)]
        return Loop(body, {**self.carried, **later}, recorded, self.period, self.stages)

    def vjp(self, names: Collection[str]) -> "Loop":
        """The loop that goes back: the derivatives of a weighted sum of what is carried at the end.

        It is given, last step first, what each step of this loop was given, and what was carried
        to it.

        Parameters
        ----------
        names : collection of str
            The inputs, not carried, by which to differentiate.

        Returns
        -------
        Loop
            It carries the weights, called "weight_" and the input that this loop carries: at the
            end they are the derivatives by the starts. Its further outputs are the derivatives by
            the inputs named, in their order: recorded for those that change with the steps, and
            for the others carried as sums, called "sum_" and the input. Other inputs are left out
            where derivatives do not depend on them.
        """
        if self.stages > 1:
            raise CompileError(f"{self.body.name} has stages: expected one body for a whole step")
        inputs, carried = self.body.inputs, [*self.carried.values()]
        graph, flat = self._copied()
        entries = iter(flat)
        results = [[next(entries) for _ in y.flat] for y in self.body.outputs]
        wanted = [inputs[name] for name in (*carried, *names)]
        weights = added(inputs, "weight", wanted[: len(carried)])
        found = iter(
            weighted(
                graph,
                [y for k in self.carried for y in results[k]],
                [graph.input(x.name, k) for x in weights for k in range(x.size)],
                [graph.input(x.name, k) for x in wanted for k in range(x.size)],
            )
        )
        fixed = [inputs[name] for name in names if inputs[name].rate in ("run", "once")]
        sums = {x.name: total for x, total in zip(fixed, added(inputs, "sum", fixed), strict=True)}
        outputs, onward, recorded = [], {k: x.name for k, x in enumerate(weights)}, []
        for place, x in enumerate(wanted):
            slopes = [next(found) for _ in range(x.size)]
            if x.name in sums:
                onward[place] = sums[x.name].name
                slopes = [graph.input(onward[place], k) + y for k, y in enumerate(slopes)]
            elif place >= len(carried):
                recorded.append(place)
            outputs.append(objects(slopes, x.shape))
        body = program(f"vjp of {self.body.name}", {}, outputs, False)
        used = {args[0] for _, op, args in body.nodes if op == "input"}
        given = [
            x._replace(rate="state") if x.name in carried else x
            for x in inputs.values()
            if x.name in used
        ]
        every = {x.name: x for x in (*given, *weights, *sums.values())}
        return Loop(replace(body, inputs=every), onward, recorded)

    def _copied(self) -> tuple[Graph, list[Any]]:
        """A graph of its own with the body, and the body's outputs in a row."""
        graph = Graph()
        return graph, self.body.replay(graph.copy)
