"""Loops that run a program repeatedly. The derivatives of a loop are loops, too."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from armlet.graph.graph import arrays_of_shapes, object_array
from armlet.graph.program import Program, program, with_cotangents, with_tangents
from armlet.graph.signature import named_inputs, prefixed_inputs


@dataclass(frozen=True)
class Loop:
    """A program that runs step by step; some outputs become "carried" inputs of the next step.

    A run is a sequence of steps. A call computes one or many runs; its carried inputs are the
    initial values of each run. The rate of any other input says how often the input changes; see
    `Input`.
    """

    body: Program
    """The program of one step, or of one stage of a step."""
    carried: Mapping[int, str] = field(default_factory=dict)
    """Output index -> name of the carried input that gets the output in the next step or stage."""
    recorded: Sequence[int] = ()
    """The indices of the outputs to record: one row after every n steps. Each call chooses n. Of
    all other outputs, only the final value is returned."""
    period: int | None = None
    """The number of rows of recorded outputs and of inputs of rate "state" or "step". After the
    last row, the next step uses the first row again. By default, no row is reused."""
    stages: int = 1
    """How many times the body runs per step, each time with the next row of inputs of rate "stage".
    Stages keep the body short, so that it stays in the instruction cache of the processor."""

    def jvp(self, names: Collection[str]) -> "Loop":
        """Return a loop that also computes the tangents of all outputs.

        For each input x that is carried or in `names`, the new loop also takes "tangent_x". The
        new loop returns the outputs of this loop, followed by their tangents in the same order.
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
        """Return a loop that runs backwards and pulls cotangents of final values back to inputs.

        The new loop begins with the last step of this loop, so callers pass all rows in reverse
        order. Each carried input x of this loop becomes an input with one row per step. The new
        loop carries "cotangent_x" instead: its initial value is the cotangent of the final x, and
        its final value is the derivative with respect to the initial x. Further outputs are the
        derivatives with respect to the inputs `names`, in this order. For an input that changes
        with the steps, the derivative is recorded at each step; for any other input x, the
        derivative is summed over the steps and carried as "sum_x". Inputs that no derivative
        depends on are left out. `stages` must be 1.
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
