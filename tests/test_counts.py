"""Operation counts: golden, and never above the best tool known."""

import json
import os
import sys
from pathlib import Path

import pytest

import armlet
from armlet.literature import totals

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import counts  # noqa: E402

GOLDEN = json.loads(counts.GOLDEN.read_text())


@pytest.mark.parametrize("name", GOLDEN)
def test_counts_are_the_golden_ones(name):
    """A change here is a change in the results: review it, then benchmarks/counts.py --golden."""
    assert counts.counts([name]) == {name: GOLDEN[name]}


def test_the_golden_file_is_complete():
    general = {f"general {letters}" for letters in counts.GENERAL}
    assert set(GOLDEN) == set(armlet.catalogue()) | general


PLAIN_COMPOSITES = {
    "puma560": 135 + 120, "ur5e": 130 + 116, "panda": 172 + 151, "iiwa14": 146 + 125,
    "rx90": 119 + 102,
}  # fmt: skip
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


def test_every_published_method_is_a_formulation_or_is_only_cited():
    named = {(t.quantity, t.formulation) for t in totals() if t.formulation}
    assert all(name in armlet.formulations(quantity) for quantity, name in named)
    assert len(named) >= 25


@pytest.mark.skipif("ARMLET_LONG" not in os.environ, reason="takes 30 s: set ARMLET_LONG=1")
def test_the_readme_shows_the_table_that_the_script_prints():
    assert counts.table() in (ROOT / "README.md").read_text()
