"""The classes of trials, by name."""

from functools import partial

from fuzz import (
    c_code,
    cache,
    functions,
    interrupts,
    kernels,
    loader_bytes,
    loader_files,
    loader_includes,
    loader_structure,
    logs,
    robots,
    simplifier,
    simulation,
    viewer,
)
from fuzz.worker import Class

GIB = 2**30
NEARLY_PARALLEL = ("nearly parallel", "nearly scara", "calibrated", "calibrated arm")

CLASSES = {
    "loader_bytes": Class(
        loader_bytes.trial, "model files with bytes changed", limit=10, memory=3 * GIB
    ),
    "loader_structure": Class(
        loader_structure.trial, "model files of odd structure", limit=10, memory=3 * GIB
    ),
    "loader_files": Class(
        loader_files.trial, "models of several files and meshes", limit=20, memory=3 * GIB
    ),
    "loader_includes": Class(
        loader_includes.trial, "SDF of several files", limit=20, memory=3 * GIB
    ),
    "kernels": Class(kernels.trial, "kernels called with odd arrays", limit=20),
    "interrupts": Class(
        interrupts.trial, "Ctrl-C at random moments", limit=300, missing=interrupts.missing
    ),
    "cache": Class(cache.trial, "a cache that is damaged", limit=20),
    "robots": Class(robots.trial, "robots of every geometry against thirty digits", share=2),
    "nearly_parallel": Class(
        partial(robots.trial, kinds=NEARLY_PARALLEL), "the same of nearly parallel axes alone"
    ),
    "functions": Class(functions.trial, "NumPy expressions in user functions", limit=20),
    "simplifier": Class(simplifier.trial, "random programs through every pass"),
    "simulation": Class(simulation.trial, "simulations and roll-outs of random options"),
    "c_code": Class(c_code.trial, "generated C under sanitizers", missing=c_code.missing),
    "viewer": Class(
        viewer.trial, "websocket messages to the viewer", limit=60, missing=viewer.missing
    ),
    "logs": Class(
        logs.trial, "logs of every form, whole and damaged", limit=20, missing=logs.without_parquet
    ),
}
