"""A loop around a program; the derivatives of a loop are loops as well."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from armlet.graph.graph import arrays_of_shapes, object_array
from armlet.graph.program import Program, program, with_cotangents, with_tangents
from armlet.graph.signature import named_inputs, prefixed_inputs


@dataclass(frozen=True)
class Loop:
    """A program that is run step by step, with some outputs as inputs of the next step.

    One call runs the loop from one start or from many. A call passes the carried inputs as they are
    at the start; the rate of any other input says how often it changes.
    """

    body: Program
    """One step, or one stage of a step."""
    carried: Mapping[int, str] = field(default_factory=dict)
    """The input that an output becomes in the next step, by the index of the output."""
    recorded: Sequence[int] = ()
    """The indices of outputs that are recorded. A call says how many steps make a row, and the
    row has the value after the last one. Other outputs are returned after the last step alone."""
    period: int | None = None
    """The number of rows of records, and of inputs that change with every step; later steps start
    again at the first row. By default there is a row for every step."""
    stages: int = 1
    """How often the body runs in a step, each time with another row of the inputs of rate "stage".
    A short body that runs often stays in the instruction cache of the processor."""

    def jvp(self, names: Collection[str]) -> "Loop":
        """The loop that also carries tangents, given those of the starts and of the inputs `names`.

        For each input x, carried or in `names`, its body has one more input, "tangent_x".
        Its outputs are those of this loop, followed by their tangents in the same order.
        """
        outputs, inputs = self.body.outputs, self.body.inputs
        active = [inputs[name] for name in (*self.carried.values(), *names)]
        tangents, flat, derivatives = with_tangents(self.body, active)
        values = arrays_of_shapes([*flat, *derivatives], [y.shape for y in (*outputs, *outputs)])
        every = named_inputs([*inputs.values(), *tangents])
        body = program(f"jvp of {self.body.name}", every, values, False)
        count = len(outputs)
        # the first tangents are those of the carried inputs
        carried = {count + k: x.name for k, x in zip(self.carried, tangents, strict=False)}
        recorded = [*self.recorded, *(count + k for k in self.recorded)]
        return Loop(body, {**self.carried, **carried}, recorded, self.period, self.stages)

    def vjp(self, names: Collection[str]) -> "Loop":
        """The loop that runs backwards and pulls cotangents of carried values back to the start.

        Each of its steps takes the arguments of a step of this loop, also the carried inputs; the
        last step comes first. For each carried input x it carries "cotangent_x", which at the end
        is the derivative by the start. Its further outputs are the derivatives by the inputs
        `names`, in this order. Those by inputs that change with the steps are recorded; that by any
        other input x is carried as the sum "sum_x". Inputs of this loop that no derivative depends
        on are left out. This loop must not have stages.
        """
        inputs, carried = self.body.inputs, [*self.carried.values()]
        wanted = [inputs[name] for name in (*carried, *names)]
        starts = {k: inputs[name] for k, name in self.carried.items()}
        graph, cotangents, derivatives = with_cotangents(self.body, starts, wanted)
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
