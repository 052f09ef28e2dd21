"""A loop around a program, and its derivatives, which are loops as well."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from armlet.errors import CompileError
from armlet.graph.differentiate import vjp
from armlet.graph.graph import arrays_of_shapes, object_array
from armlet.graph.program import Program, program, with_tangents
from armlet.graph.signature import named_inputs, prefixed_inputs


@dataclass(frozen=True)
class Loop:
    """A program that is run step by step, with some outputs as inputs of the next step.

    A simulation carries positions and velocities, a fit the sums over its data, a controller the
    cost of its plans.

    One call runs the loop from one start or from many. The start of a run is the value of the
    inputs that are carried. The rate of any other input says how often it changes: with every step
    of every run ("state"), with every step ("step"), with every run ("run"), or never ("once").

    A step may do the body several times, once per stage, with inputs that have a value for each
    stage ("stage"): short code stays in the instruction cache of the processor.

    Parameters
    ----------
    body : Program
        One step.
    carried : mapping of int to str
        The indices of outputs, and the inputs that they become in the next step.
    recorded : sequence of int
        The indices of outputs that are recorded: one row for as many steps as a call asks for, with
        the value after the last of them. Of the other outputs, the value after the last step of the
        loop is returned.
    period : int, optional
        The number of rows of inputs that change with every step, and of records; later steps use
        them again from the first on. By default there is a row for every step.
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
        """The loop that carries tangents beside the values.

        Parameters
        ----------
        names : collection of str
            Further inputs that have tangents: those that are carried always do.

        Returns
        -------
        Loop
            Its body has one more input for each that has a tangent, called "tangent_" and its name;
            its outputs are those of this loop, and then their tangents in that order.
        """
        outputs, inputs = self.body.outputs, self.body.inputs
        active = [inputs[name] for name in (*self.carried.values(), *names)]
        tangents, flat, derivatives = with_tangents(self.body, active)
        values = arrays_of_shapes([*flat, *derivatives], [y.shape for y in (*outputs, *outputs)])
        every = named_inputs([*inputs.values(), *tangents])
        body = program(f"jvp of {self.body.name}", every, values, False)
        count = len(outputs)
        # the first tangents are those of what is carried
        carried = {count + k: x.name for k, x in zip(self.carried, tangents, strict=False)}
        recorded = [*self.recorded, *(count + k for k in self.recorded)]
        return Loop(body, {**self.carried, **carried}, recorded, self.period, self.stages)

    def vjp(self, names: Collection[str]) -> "Loop":
        """The loop that runs backwards: it pulls cotangents of what is carried back to the start.

        Its steps take the arguments of the steps of this loop in reverse order, and what was
        carried to each.

        Parameters
        ----------
        names : collection of str
            Further inputs to differentiate by: those that are carried always are.

        Returns
        -------
        Loop
            It carries the cotangents, called "cotangent_" and the input that this loop carries: at
            the end they are the derivatives by the starts. Its further outputs are the derivatives
            by the named inputs, in their order: recorded for those that change with the steps, and
            for the others carried as sums, called "sum_" and the input. Other inputs are left out
            where derivatives do not depend on them.
        """
        if self.stages > 1:
            raise CompileError(f"{self.body.name} has stages: expected one body for a whole step")
        inputs, carried = self.body.inputs, [*self.carried.values()]
        graph, flat = self.body.copy()
        results = arrays_of_shapes(flat, [y.shape for y in self.body.outputs])
        wanted = [inputs[name] for name in (*carried, *names)]
        cotangents = prefixed_inputs(inputs, "cotangent", wanted[: len(carried)])
        derivatives = arrays_of_shapes(
            vjp(
                graph,
                [y for k in self.carried for y in results[k].flat],
                graph.entries(cotangents),
                graph.entries(wanted),
            ),
            [x.shape for x in wanted],
        )
        fixed = [inputs[name] for name in names if inputs[name].rate in ("run", "once")]
        totals = prefixed_inputs(inputs, "sum", fixed)
        sums = {x.name: total for x, total in zip(fixed, totals, strict=True)}
        onward, recorded = {k: x.name for k, x in enumerate(cotangents)}, []
        for place, x in enumerate(wanted):
            if x.name in sums:
                onward[place] = sums[x.name].name
                so_far = graph.entries([sums[x.name]])
                entries = [a + b for a, b in zip(so_far, derivatives[place].flat, strict=True)]
                derivatives[place] = object_array(entries, x.shape)
            elif place >= len(carried):
                recorded.append(place)
        body = program(f"vjp of {self.body.name}", {}, derivatives, False)
        used = {args[0] for _, op, args in body.nodes if op == "input"}
        arguments = [
            x._replace(rate="state") if x.name in carried else x
            for x in inputs.values()
            if x.name in used
        ]
        every = named_inputs([*arguments, *cotangents, *totals])
        return Loop(replace(body, inputs=every), onward, recorded)
