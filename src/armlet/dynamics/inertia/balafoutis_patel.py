"""The inertia matrix by generalised links, which are composed of augmented links."""

from armlet.dynamics.formulation import describe
from armlet.dynamics.recursions import columns, unit_wrenches
from armlet.minimal.lumping import augment, gather
from armlet.robot import RobotModel
from armlet.scalar import Matrix, Vector


@describe(
    "inertia_matrix",
    source="Balafoutis and Patel 1991, Algorithm 6.2, corrected for prismatic joints, on trees",
    growth="n^2",
)
def balafoutis_patel_62(robot: RobotModel, q: Vector) -> Matrix:
    """Joint-space inertia matrix H(q), by generalised links.

    Augmented link i is body i with a point mass at the origin of each revolute child joint: the
    mass beyond this joint, lumped off-line; masses on prismatic joints are not lumped. Generalised
    link i consists of the augmented links that joint i carries. It has first moment U, inertia E
    and the mass m̂ that is not lumped. In body axes, r leads from the parent's origin to origin i:

        Uₚ += ᵖRᵢ Uᵢ,   Eₚ += ᵖRᵢ (Eᵢ - r̃ Ũᵢ - Ũᵢ r̃) ᵖRᵢᵀ

    `Displacement.body` adds terms for the mass on prismatic joints. A unit acceleration of joint i,
    of unit twist (w, v), needs the wrench

        f = w × Uᵢ + m̂ᵢ v,   t = Eᵢ w + Uᵢ × v

    Column i of H has the projections of this wrench on the unit twists of the joints from i to the
    base. The source leaves out the moment Uᵢ × v in (6.3.29e).
    """
    X = robot.displacements(q)
    links = gather(robot, lambda i, link: X[i].body(*link), augment(robot).bodies)
    return columns(robot, X, robot.unit_twists, unit_wrenches(robot.unit_twists, links))
