"""Operation counts: golden, and never above the best tool known."""

import json
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


@pytest.mark.parametrize("name", counts.OPENSYMORO)
def test_canonical_frames_need_no_more_than_the_best_tool(name):
    every, base, inertia = counts.OPENSYMORO[name]
    found = GOLDEN[name]
    assert sum(found["inverse_dynamics"]["all"]) <= sum(every)
    assert sum(found["inverse_dynamics"]["minimal"]) <= sum(base)
    assert sum(found["inertia_matrix"]["minimal"]) <= sum(inertia)


def test_the_general_arm_is_below_the_trimmed_algorithm():
    """Balafoutis and Patel 1991, Table 5.3: 450M 386A; Lin and Fang 1999, Table VIII: 407M 301A."""
    found = GOLDEN["general RRRRRR"]
    assert sum(found["inverse_dynamics"]["all"]) < 450 + 386
    assert sum(found["inertia_matrix"]["minimal"]) < 407 + 301


def test_published_totals_are_met_in_their_own_scope():
    """Every total printed in the five works, by the formulation of that name or the cheapest."""
    above = [(t.work, t.method, n) for t in totals() for n in t.n if t.verdict(n) == "above"]
    assert above == []
    assert counts.published() == json.loads(counts.PUBLISHED.read_text())


def test_every_published_method_is_a_formulation_or_is_only_cited():
    named = {(t.quantity, t.formulation) for t in totals() if t.formulation}
    assert all(name in armlet.formulations(quantity) for quantity, name in named)
    assert len(named) >= 25


def test_the_readme_shows_the_table_that_the_script_prints():
    assert counts.table() in (ROOT / "README.md").read_text()
