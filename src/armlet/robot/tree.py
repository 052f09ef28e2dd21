"""The tree of joints and bodies of a robot: its sizes, its twists, and traversals."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.robot.joints import Twist, slices
from armlet.robot.parts import BASE, Joint


class Tree:
    """Bodies, each on one joint: body i is moved by joint i, and parents come before children."""

    joints: tuple[Joint, ...]
    parent: tuple[int, ...]

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.joints)

    @property
    def nb(self) -> int:
        """The number of bodies, one per joint."""
        return len(self.joints)

    @property
    def nq(self) -> int:
        """The number of joint positions."""
        return sum(joint.motion.nq for joint in self.joints)

    @property
    def nv(self) -> int:
        """The number of joint velocities, and of torques."""
        return sum(joint.motion.nv for joint in self.joints)

    @cached_property
    def q_of(self) -> tuple[slice, ...]:
        """The slice of q with the positions of each joint."""
        return slices([joint.motion.nq for joint in self.joints])

    @cached_property
    def v_of(self) -> tuple[slice, ...]:
        """The slice of qd with the velocities of each joint, and of tau with its torques."""
        return slices([joint.motion.nv for joint in self.joints])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the joints."""
        return tuple(joint.name for joint in self.joints)

    @property
    def joint_letters(self) -> str:
        """One letter per joint, R (revolute) or P (prismatic)."""
        return "".join(joint.letter for joint in self.joints)

    @property
    def is_serial(self) -> bool:
        """Whether every body has at most one child."""
        return all(p == i - 1 for i, p in enumerate(self.parent))

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
