"""Minimal inertial parameters: the parameter combinations that joint torques depend on."""

from armlet.minimal.closed_form import check_options, closed_form, has_closed_form
from armlet.minimal.lumping import lump
from armlet.minimal.parameters import (
    MinimalParameters,
    equivalence,
    standard_names,
)
from armlet.minimal.rank import by_rank, independent, rank
