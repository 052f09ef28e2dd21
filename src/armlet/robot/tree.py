"""The tree of joints and bodies of a robot: its sizes, its twists, and traversals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet.robot.components import BASE, Joint
from armlet.robot.coupling import Coupling, common_limits
from armlet.robot.joints import Twist, slices


class Tree:
    """Bodies, each on one joint: body i is moved by joint i, and parents come before children.

    q holds the positions of the coordinates: those of all joints, or, where joints are coupled, of
    the joints that lead. Traversals and twists are of all joints.
    """

    joints: tuple[Joint, ...]
    parent: tuple[int, ...]
    couplings: tuple[Coupling, ...]

    @property
    def n(self) -> int:
        """The number of coordinates: of joints, less those that are moved by another one."""
        return len(self.coordinates)

    @property
    def nb(self) -> int:
        """The number of bodies, one per joint."""
        return len(self.joints)

    @cached_property
    def nq(self) -> int:
        """The number of positions in q."""
        return sum(joint.motion.nq for joint in self.coordinates)

    @cached_property
    def nv(self) -> int:
        """The number of velocities in qd, and of torques in tau."""
        return sum(joint.motion.nv for joint in self.coordinates)

    @cached_property
    def q_of(self) -> tuple[slice, ...]:
        """The slice with the positions of each joint, of q where no joints are coupled."""
        return slices([joint.motion.nq for joint in self.joints])

    @cached_property
    def v_of(self) -> tuple[slice, ...]:
        """The slice with the velocities of each joint, of qd where no joints are coupled."""
        return slices([joint.motion.nv for joint in self.joints])

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the coordinates, in the order of q: those of the joints that lead."""
        return tuple(joint.name for joint in self.coordinates)

    @property
    def joint_letters(self) -> str:
        """One letter per joint, R (revolute) or P (prismatic)."""
        return "".join(joint.letter for joint in self.joints)

    @property
    def is_serial(self) -> bool:
        """Whether every body has at most one child."""
        return all(p == i - 1 for i, p in enumerate(self.parent))

    # ------------------------------------------------------------------ coupled joints

    @property
    def coordinates(self) -> tuple[Joint, ...]:
        """What q holds: the name, kind and limits of each coordinate.

        A coordinate that moves several joints has the name and kind of the joint that leads, and
        its limits within those of the others.
        """
        return self._coordinates if self.couplings else self.joints

    @cached_property
    def _coordinates(self) -> tuple[Joint, ...]:
        return tuple(
            self.joints[i]._replace(
                limits=common_limits(self.joints[i].limits, self.followers(i))[0]
            )
            for i in self.leaders
        )

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """The joint of each coordinate."""
        if not self.couplings:
            return tuple(range(self.nb))
        return tuple(i for i, coupling in enumerate(self.couplings) if coupling.leader == i)

    def followers(self, i: int) -> list[tuple[Joint, Coupling]]:
        """The other joints that joint i moves."""
        pairs = enumerate(zip(self.joints, self.couplings, strict=False))
        return [pair for k, pair in pairs if pair[1].leader == i and k != i]

    def follows(self, i: int) -> str:
        """How joint i is moved by another, such as "-2 finger + 0.5"; empty if it leads."""
        if i in self.leaders:
            return ""
        leader, factor, offset = self.couplings[i]
        name = self.joints[leader].name
        times = {1: name, -1: f"-{name}"}.get(factor, f"{factor:.6g} {name}")
        return times + (f" {'+' if offset > 0 else '-'} {abs(offset):.6g}" if offset else "")

    def joint_positions(self, q: ArrayLike) -> NDArray[Any]:
        """The positions of all joints, coupled ones too: Γ q + q₀, of shape (..., nb).

        >>> import armlet
        >>> armlet.load("planar2r").joint_positions([0.1, 0.2]).tolist()
        [0.1, 0.2]
        """
        moved = self.joint_velocities(q)
        offsets = [coupling.offset for coupling in self.couplings]
        positions: NDArray[Any] = moved + np.array(offsets, moved.dtype) if offsets else moved
        return positions

    def joint_velocities(self, qd: ArrayLike) -> NDArray[Any]:
        """The velocities of all joints, coupled ones too: Γ qd, of shape (..., nb).

        Accelerations and small displacements are related in the same way.
        """
        given = np.asarray(qd)
        if not self.couplings:
            return given
        if given.dtype != object:
            given = given.astype(float)
        index, factors = self._moved_by
        moved: NDArray[Any] = given[..., index] * np.array(factors, given.dtype)
        return moved

    def coordinate_torques(self, tau: NDArray[Any]) -> NDArray[Any]:
        """The torques of the coordinates that do the work of those of all joints: Γᵀ tau.

        The first axis is that of the joints; others stay as they are.
        """
        if not self.couplings:
            return tau
        index, factors = self._moved_by
        gathered = np.zeros((self.nv, *tau.shape[1:]), tau.dtype)
        for k, factor, row in zip(index, factors, tau, strict=True):
            gathered[k] = gathered[k] + factor * row
        return gathered

    @cached_property
    def _moved_by(self) -> tuple[list[int], list[Any]]:
        """For each velocity of the joints, that of the coordinates which moves it, and how far."""
        places = dict(
            zip(self.leaders, slices([x.motion.nv for x in self.coordinates]), strict=True)
        )
        moved = [
            (k, coupling.factor)
            for coupling in self.couplings
            for k in range(self.nv)[places[coupling.leader]]
        ]
        return [k for k, _ in moved], [factor for _, factor in moved]

    # ------------------------------------------------------------------ how joints move bodies

    @cached_property
    def twists(self) -> tuple[tuple[Twist, ...], ...]:
        """The unit twists (w, v) of each joint, in its body's axes: one for each velocity."""
        return tuple(joint.motion.twists for joint in self.joints)

    @cached_property
    def unit_twists(self) -> tuple[Twist, ...]:
        """The unit twists of all joints in one tuple: one for each velocity of the robot."""
        return tuple(twist for twists in self.twists for twist in twists)

    @cached_property
    def velocities(self) -> tuple[tuple[int, Twist], ...]:
        """For each velocity of the robot, the body that it moves and its unit twist."""
        return tuple((i, twist) for i, twists in enumerate(self.twists) for twist in twists)

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """For each joint, 1 if it rotates its body, else 0."""
        return tuple(joint.motion.turns for joint in self.joints)

    @cached_property
    def slides(self) -> tuple[int, ...]:
        """For each joint, 1 if it moves its body's origin in the parent, else 0."""
        return tuple(joint.motion.slides for joint in self.joints)

    # ------------------------------------------------------------------ positions

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> NDArray[Any]:
        """The positions reached from q by dv, a velocity times a duration.

        For revolute and prismatic joints it is q + dv.
        """
        reached: NDArray[Any] = np.asarray(q) + np.asarray(dv)
        return reached

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> NDArray[Any]:
        """The dv for which `integrate(q0, dv)` is q1.

        For revolute and prismatic joints it is q1 - q0.
        """
        dv: NDArray[Any] = np.asarray(q1) - np.asarray(q0)
        return dv

    # ------------------------------------------------------------------ walking the tree

    def base_to_tips(self) -> Iterator[tuple[int, int]]:
        """Every body with its parent, parents first; the parent of a root is BASE."""
        return iter(enumerate(self.parent))

    def tips_to_base(self) -> Iterator[tuple[int, int]]:
        """Every body with its parent, children first; the parent of a root is BASE.

        A list that sums over children needs a last entry for the base: see `with_base`.
        """
        return ((i, self.parent[i]) for i in reversed(range(self.nb)))

    def path_to_base(self, i: int) -> Iterator[int]:
        """The bodies on the path from body i, included, to the base, excluded."""
        while i != BASE:
            yield i
            i = self.parent[i]

    def path(self, i: int) -> list[int]:
        """The bodies on the path from the base, excluded, to body i, included."""
        return [*self.path_to_base(i)][::-1]
