"""Operation counts: golden, and never above the best tool known."""

import json
from pathlib import Path

import counts
import pytest
from typer.testing import CliRunner

import armlet
from armlet.cli import app
from armlet.literature import totals

ROOT = Path(__file__).parents[1]

GOLDEN = json.loads(counts.GOLDEN.read_text())
PUBLISHED = ("count", "--published", "--quantity")


@pytest.mark.parametrize("name", GOLDEN)
def test_counts_are_the_golden_ones(name):
    """A change here is a change in the results: review it, then benchmarks/counts.py --golden."""
    assert counts.counts([name]) == {name: GOLDEN[name]}


def test_the_golden_file_is_complete():
    general = {f"general {letters}" for letters in counts.GENERAL}
    assert set(GOLDEN) == set(armlet.catalogue()) | general


PLAIN_COMPOSITES = {
    "puma560": 135 + 120,
    "ur5e": 130 + 116,
    "panda": 172 + 151,
    "iiwa14": 146 + 125,
    "rx90": 119 + 102,
}
"""Composite bodies carried by screws, with lumped inertias and nothing else done."""


@pytest.mark.parametrize("name", counts.OPENSYMORO)
def test_the_cheapest_programs_are_a_tenth_below_the_best_tool(name):
    every, base, inertia = map(sum, counts.OPENSYMORO[name])
    found = GOLDEN[name]
    assert sum(found["inverse_dynamics"]["all"]) < 0.9 * every
    assert sum(found["inverse_dynamics"]["cheapest"]) < 0.9 * base
    assert sum(found["inertia_matrix"]["cheapest"]) < 0.6 * inertia
    assert sum(found["inertia_matrix"]["cheapest"]) < 0.95 * PLAIN_COMPOSITES[name]


def test_a_scara_is_below_the_best_tool_too():
    """Its slide is along the only axis that turns it: of what it carries only the mass shows."""
    assert sum(GOLDEN["scara"]["inverse_dynamics"]["cheapest"]) < 71


@pytest.mark.parametrize("name", GOLDEN)
def test_the_cheapest_is_never_above_the_first_formulation(name):
    for found in GOLDEN[name].values():
        if "cheapest" in found:
            assert sum(found["cheapest"]) <= sum(found["minimal"]) <= sum(found["all"])


def test_the_general_arm_is_below_what_is_published():
    """Balafoutis and Patel 1991, Table 5.3: 450M 386A; Lin and Fang 1999, Table VIII: 407M 301A."""
    for letters in ("RRRR", "RRRRRR", "RRRRRRRR"):
        n = len(letters)
        found = GOLDEN[f"general {letters}"]
        trimmed, lin_fang = (
            93 * n - 108 + 81 * n - 100,
            10 * n**2 + 14 * n - 37 + 6 * n**2 + 23 * n - 53,
        )
        assert sum(found["inverse_dynamics"]["cheapest"]) < 0.9 * trimmed
        assert sum(found["inertia_matrix"]["cheapest"]) < lin_fang
    assert sum(GOLDEN["general RRRRRR"]["inertia_matrix"]["cheapest"]) <= 324 + 252


def test_published_totals_are_met_in_their_own_scope():
    """Every total printed in the four works, by the formulation of that name or the cheapest."""
    above = [(t.work, t.method, n) for t in totals() for n in t.n if t.verdict(n) == "above"]
    assert above == []
    assert counts.published() == json.loads(counts.PUBLISHED.read_text())


def test_printed_totals_are_those_of_the_works_and_corrections_stand_beside_them():
    """M and A as printed, and as corrected, of the eight totals misprinted or miscounted."""
    found = {}
    for t in totals():
        for n in t.n:
            printed, corrected = t.printed_count(n), t.corrected_count(n)
            if printed != corrected:
                key = (t.work, t.method.partition(" (")[0], t.twists, n)
                found[key] = (printed.M, printed.A, corrected.M, corrected.A)
    book, lin_fang, saha = "Balafoutis and Patel 1991", "Lin and Fang 1999", "Saha 1999"
    vukobratovic = "Vukobratovic-Li-Kircanski closed form"
    assert found == {
        (f"{lin_fang}, Table VI", "Formulation 5", "general", 11): (1016, 662, 1026, 662),
        (f"{lin_fang}, Table VIII", "Kawasaki et al. Algorithm I", "general", 4): (
            194,
            174,
            195,
            174,
        ),
        (f"{saha}, Table 1", "Luh-Walker-Paul 1980", "general", 6): (852, 834, 852, 738),
        (f"{saha}, Table 2", "Walker-Orin 1982", "general", 6): (633, 480, 633, 475),
        (f"{book}, Table 6.1", "Algorithm 6.2", "general", 6): (420, 339, 420, 370),
        (f"{book}, Table 6.1", "Algorithm 6.2", "quarter", 6): (271, 250, 271, 295),
        (f"{book}, Table 5.2", "Algorithm 5.7 trimmed", "quarter", 6): (354, 351, 354, 340),
        (f"{book}, text", vukobratovic, "general", 6): (992, 776, 972, 830),
    }
    assert all(t.note for t in totals() if t.misprints)


def test_armlet_is_below_every_total_as_printed_and_as_corrected():
    rows = [(t, n) for t in totals() for n in t.n]
    assert len(rows) == 150
    assert all(t.count(n).total < t.printed_count(n).total for t, n in rows)
    assert all(t.count(n).total < t.corrected_count(n).total for t, n in rows)


def test_the_command_shows_printed_and_corrected_totals():
    shown = CliRunner().invoke(app, [*PUBLISHED, "inertia_matrix"])
    assert "420M 339A" in shown.output
    assert "420M 370A" in shown.output
    assert "printed A leaves out the sum of the moments" in " ".join(shown.output.split())
    rows = json.loads(CliRunner().invoke(app, [*PUBLISHED, "inertia_matrix", "--json"]).output)
    (row,) = (x for x in rows if x["method"] == "Kawasaki et al. Algorithm I" and x["n"] == 4)
    assert (row["printed"]["M"], row["corrected"]["M"]) == (194, 195)


def test_every_published_method_is_a_formulation_or_is_only_cited():
    named = {(t.quantity, t.formulation) for t in totals() if t.formulation}
    assert all(name in armlet.formulations(quantity) for quantity, name in named)
    assert len(named) >= 25


@pytest.mark.long
def test_the_readme_shows_the_table_that_the_script_prints():
    assert counts.table() in (ROOT / "README.md").read_text()
