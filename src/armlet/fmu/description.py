"""XML files of a unit (FMU): modelDescription.xml and, for FMI 3, buildDescription.xml."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import inf
from xml.etree import ElementTree as ET

from armlet.codegen.source.c import one_line
from armlet.fmu.block import UNITS, Block, Entry, Variable
from armlet.version import __version__

CAUSALITY = {
    "independent": {"causality": "independent", "variability": "continuous"},
    "input": {"causality": "input", "variability": "continuous"},
    "fixed": {"causality": "parameter", "variability": "fixed"},
    "tunable": {"causality": "parameter", "variability": "tunable"},
    "output": {"causality": "output", "variability": "continuous"},
}
"""Kind of variable -> causality and variability in FMI."""


def model_description(block: Block, fmi: int, token: str, sources: Sequence[str]) -> str:
    """Return the text of modelDescription.xml."""
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": f"{fmi}.0",
            "modelName": block.name,
            "guid" if fmi == 2 else "instantiationToken": token,
            "description": one_line(f"{block.robot.name}: {block.about}"),
            "version": __version__,
            "generationTool": f"armlet {__version__}",
            "variableNamingConvention": "structured",
        },
    )
    state = "FMUstate" if fmi == 2 else "FMUState"
    features = (
        "canHandleVariableCommunicationStepSize",
        f"canGetAndSet{state}",
        f"canSerialize{state}",
    )
    simulation = ET.SubElement(
        root, "CoSimulation", {"modelIdentifier": block.name} | dict.fromkeys(features, "true")
    )
    if fmi == 2:
        files = ET.SubElement(simulation, "SourceFiles")
        for name in sources:
            ET.SubElement(files, "File", name=name)
    units = ET.SubElement(root, "UnitDefinitions")
    used = {unit for x in block.variables for unit in x.units}
    for name, powers in UNITS.items():
        if name in used:
            unit = ET.SubElement(units, "Unit", name=name)
            ET.SubElement(unit, "BaseUnit", {base: str(power) for base, power in powers.items()})
    categories = ET.SubElement(root, "LogCategories")
    ET.SubElement(categories, "Category", name="logStatusError")
    ET.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", stepSize="0.001")
    variables = ET.SubElement(root, "ModelVariables")
    structure = ET.SubElement(root, "ModelStructure")
    (_fmi2 if fmi == 2 else _fmi3)(block, variables, structure)
    return _text(root)


def build_description(block: Block, sources: Sequence[str]) -> str:
    """Return the text of buildDescription.xml, which tells FMI 3 tools the C files to compile."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    build = ET.SubElement(root, "BuildConfiguration", modelIdentifier=block.name)
    files = ET.SubElement(build, "SourceFileSet", language="C99")
    for name in sources:
        ET.SubElement(files, "SourceFile", name=name)
    return _text(root)


# ------------------------------------------------------------------ FMI 3: arrays


def _fmi3(block: Block, variables: ET.Element, structure: ET.Element) -> None:
    """Add one XML element for each variable, each output and each initial unknown.

    The value reference of a variable is its index in `block.variables`.
    """
    number = {x.name: k for k, x in enumerate(block.variables)}
    for x in block.variables:
        attributes = {
            "name": x.name,
            "valueReference": str(number[x.name]),
            **CAUSALITY[x.kind],
            "description": _with_entries(x),
        }
        if len(set(x.units)) == 1:
            attributes["unit"] = x.units[0]
        if x.limits and "unit" in attributes:
            lows, highs = zip(*x.limits, strict=True)
            attributes |= _bounds(min(lows), max(highs))
        if x.start:
            attributes["start"] = " ".join(map(repr, x.start))
        element = ET.SubElement(variables, "Float64", attributes)
        for length in x.shape:
            ET.SubElement(element, "Dimension", start=str(length))
    for name, x, depends in _unknowns(block, ("Output", "InitialUnknown")):
        on = sorted({number[entry[0]] for entries in depends for entry in entries})
        ET.SubElement(structure, name, valueReference=str(number[x.name]), dependencies=_row(on))


def _with_entries(x: Variable) -> str:
    """Return a variable's description with the labels of its entries, and units if they differ."""
    words = list(x.labels or (x.units if len(set(x.units)) > 1 else ()))
    if x.labels and len(set(x.units)) > 1:
        words = [f"{label} ({unit})" for label, unit in zip(x.labels, x.units, strict=True)]
    return one_line(f"{x.about} Entries: {', '.join(words)}." if words else x.about)


# ------------------------------------------------------------------ FMI 2: scalars


def _fmi2(block: Block, variables: ET.Element, structure: ET.Element) -> None:
    """Add one XML element per entry of a variable; entry k has value reference k, index k + 1."""
    index: dict[Entry, int] = {}
    for x in block.variables:
        for k, suffix in enumerate(_suffixes(x)):
            label = f" {x.labels[k]}." if x.labels else ""
            index[x.name, k] = len(index) + 1
            attributes = {
                "name": x.name + suffix,
                "valueReference": str(index[x.name, k] - 1),
                **CAUSALITY[x.kind],
                "description": one_line(x.about + label),
            }
            real = {"unit": x.units[k]} if x.units else {}
            real |= _bounds(*x.limits[k]) if x.limits else {}
            real |= {"start": repr(x.start[k])} if x.start else {}
            ET.SubElement(ET.SubElement(variables, "ScalarVariable", attributes), "Real", real)
    groups = ("Outputs", "InitialUnknowns")
    parents = {name: ET.SubElement(structure, name) for name in groups}
    for name, x, depends in _unknowns(block, groups):
        for k, entries in enumerate(depends):
            on = sorted(index[entry] for entry in entries)
            ET.SubElement(
                parents[name], "Unknown", index=str(index[x.name, k]), dependencies=_row(on)
            )


def _suffixes(x: Variable) -> list[str]:
    """Return the suffixes of entry names, such as [1,2] for the second entry of the first row."""
    if not x.shape:
        return [""]
    places = product(*(range(1, length + 1) for length in x.shape))
    return [f"[{','.join(map(str, place))}]" for place in places]


# ------------------------------------------------------------------ both


def _unknowns(
    block: Block, names: tuple[str, str]
) -> Iterator[tuple[str, Variable, list[list[Entry]]]]:
    """Yield (XML tag, output, dependencies): all outputs during steps, then all at the start."""
    inputs = {x.name for x in block.variables if x.kind in ("independent", "input")}
    outputs = [x for x in block.variables if x.kind == "output"]
    for x in outputs:
        yield names[0], x, [[y for y in entries if y[0] in inputs] for entries in x.depends]
    for x in outputs:
        yield names[1], x, [[*entries] for entries in x.depends_at_start]


def _bounds(low: float, high: float) -> dict[str, str]:
    bounds = {"min": low, "max": high}
    return {name: repr(float(x)) for name, x in bounds.items() if abs(x) < inf}


def _row(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"
