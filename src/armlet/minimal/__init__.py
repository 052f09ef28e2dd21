"""Minimal inertial parameters: what motion can show, and what it cannot."""

from armlet.minimal.closed_form import check_asked, closed_form
from armlet.minimal.equivalence import equivalence
from armlet.minimal.lumping import lumped
from armlet.minimal.parameters import MinimalParameters, standard_names
from armlet.minimal.rank import by_rank, independent, rank

__all__ = [
    "MinimalParameters",
    "by_rank",
    "check_asked",
    "closed_form",
    "equivalence",
    "independent",
    "lumped",
    "rank",
    "standard_names",
]
