"""Inverse dynamics by Newton and Euler, about the joints' origins."""

from armlet.algebra import ZERO, cross
from armlet.dynamics.formulation import describe
from armlet.dynamics.parallel_axes import CarriedWrench, parallel_axes
from armlet.dynamics.recursions import accelerations, angular_motions
from armlet.minimal.lumping import augment
from armlet.robot import RobotModel
from armlet.scalar import Scalar, Vector


@describe(
    "inverse_dynamics",
    source="Balafoutis and Patel 1991, Algorithm 5.7, on trees",
    contends=True,
    walks_twists=True,
)
def newton_euler(
    robot: RobotModel, q: Vector, qd: Vector, qdd: Vector, wrench: Vector | None = None
) -> list[Scalar]:
    """Joint torques τ(q, q̇, q̈), by augmented bodies and the angular acceleration tensor.

    The origin of a revolute joint is fixed in both bodies it connects. Off-line, the mass beyond
    the joint is moved to the parent as a point mass at this origin; joint torques stay the same.
    Augmented body i has the first moment uᵢ and the inertia Kᵢ of body i and of the point masses
    moved to it. Its mass mᵢ is zero if joint i is revolute.

    `angular_motions` computes ω, ω̇ and Ω = ω̇~ + ω̃ ω̃, and `accelerations` the acceleration a of each
    origin. About its origin, each body needs the wrench

        fᵢ = Ωᵢ uᵢ + mᵢ aᵢ,   tᵢ = Kᵢ ω̇ᵢ + ωᵢ × Kᵢ ωᵢ + uᵢ × aᵢ

    plus, on the tool's body, the wrench that the tool exerts on the world. Towards the base, these
    wrenches are summed, and each sum is projected on the joint's unit twist (w, v):

        (f, t)ₚ += ᵖXᵢ (f, t)ᵢ,   τᵢ = w · tᵢ + v · fᵢ

    Unlike in Algorithm 5.7, mass on prismatic joints is not lumped, so that u and K are constant.
    """
    X = parallel_axes(robot, q)
    motions = angular_motions(robot, X, qd, qdd)
    a = accelerations(robot, X, motions, qd, qdd)
    carried = [CarriedWrench(ZERO, ZERO)] * (robot.nb + 1)
    if wrench is not None:  # (moment, force) of the tool on the world, in the tool's frame
        i, (R, r) = robot.frame()
        force = R @ wrench[3:]
        carried[i] = CarriedWrench(force, R @ wrench[:3] + cross(r, force))
    for i, (m, u, K) in enumerate(augment(robot).bodies):
        f = motions[i].Omega @ u + m * a[i]
        t = motions[i].moment(K) + cross(u, a[i])
        carried[i] = CarriedWrench(f, t) + carried[i]
    for i, p in robot.tips_to_base():
        carried[p] = carried[p] + X.wrench(i, carried[i])
    return [x for i, twists in enumerate(robot.twists) for x in carried[i].along(twists)]
