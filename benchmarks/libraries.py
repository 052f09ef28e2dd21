"""Kernels on the arrays of PyTorch and JAX: what they cost beside NumPy's, and to compile.

python benchmarks/libraries.py     needs torch and jax; starts with an empty cache of its own
"""

import os
import tempfile
import time

ROWS, ROUNDS = 100_000, 15
BATCH = 1.3
"""Time of a batch in PyTorch over that of the NumPy call, at most."""
FIRST = 3.0
"""Seconds of the first gradient of forward dynamics that JAX compiles, at most."""


def main():
    import jax
    import numpy as np
    import torch
    from turns import Timed, time_in_turns

    import armlet

    jax.config.update("jax_enable_x64", True)
    jax.numpy.zeros(3).sum().block_until_ready()
    rng = np.random.default_rng(0)
    begun = time.perf_counter()
    robot = armlet.load("panda")
    gradient = jax.jit(jax.grad(lambda *x: robot.forward_dynamics(*x).sum()))
    gradient(*jax.numpy.asarray(rng.uniform(-1, 1, (3, 7)))).block_until_ready()
    first = time.perf_counter() - begun
    print(f"first jit(grad(forward_dynamics)), the search included: {first:.2f} s (bar {FIRST})")

    arrays = rng.uniform(-1, 1, (3, ROWS, 7))
    forms = {
        "NumPy": [*arrays],
        "PyTorch": [*map(torch.tensor, arrays)],
        "PyTorch, with gradients": [torch.tensor(x, requires_grad=True) for x in arrays],
        "JAX, compiled": [*map(jax.numpy.asarray, arrays)],
    }
    kernel = armlet.compile(robot, "inverse_dynamics")
    compiled = jax.jit(lambda *x: kernel(*x))
    calls = dict.fromkeys(forms, kernel)
    calls["JAX, compiled"] = lambda *x: compiled(*x).block_until_ready()
    for name, call in calls.items():
        call(*forms[name])
    for rows in (ROWS, 1):
        given = {
            name: [x if rows > 1 else x.detach()[0] if name == "PyTorch" else x[0] for x in form]
            for name, form in forms.items()
        }
        for name, call in calls.items():
            call(*given[name])
        timed = {name: Timed(call, tuple(given[name]), rows) for name, call in calls.items()}
        found = time_in_turns(timed, ROUNDS)
        for name, spread in found.items():
            ratio = spread.median / found["NumPy"].median
            print(f"{rows:7} rows, {name:24} {1e9 * spread.median:10.1f} ns a state, {ratio:8.2f}")
        if rows > 1:
            ratio = found["PyTorch"].median / found["NumPy"].median
            print(f"batch of {rows} in PyTorch by NumPy: {ratio:.2f} (bar {BATCH})")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ARMLET_CACHE"] = folder
        main()
