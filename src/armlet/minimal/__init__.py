"""Minimal inertial parameters: the combinations that torques depend on."""

from armlet.minimal.closed_form import check_options, closed_form
from armlet.minimal.equivalence import equivalence
from armlet.minimal.lumping import lumped
from armlet.minimal.parameters import MinimalParameters, standard_names
from armlet.minimal.rank import by_rank, independent, rank

__all__ = [
    "MinimalParameters",
    "by_rank",
    "check_options",
    "closed_form",
    "equivalence",
    "independent",
    "lumped",
    "rank",
    "standard_names",
]
