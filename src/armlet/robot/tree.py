"""The tree of joints and bodies that a robot is: its sizes, its twists, the ways to walk it."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.robot.joints import Twist, slices
from armlet.robot.parts import BASE, Joint


class Tree:
    """Bodies, each on one joint: body i and joint i go together, and a parent comes before."""

    joints: tuple[Joint, ...]
    parent: tuple[int, ...]

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.joints)

    @property
    def nb(self) -> int:
        """The number of bodies: each sits on one joint."""
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
        """Where the positions of each joint are in q."""
        return slices([joint.motion.nq for joint in self.joints])

    @cached_property
    def v_of(self) -> tuple[slice, ...]:
        """Where the velocities of each joint are in qd, its torques in tau."""
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
        """Whether every body carries at most one other."""
        return all(p == i - 1 for i, p in enumerate(self.parent))

    # ------------------------------------------------------------------ how joints move bodies

    @cached_property
    def twists(self) -> tuple[tuple[Twist, ...], ...]:
        """The unit twists (w, v) of each joint, in its body's axes: one for each velocity."""
        return tuple(joint.motion.twists for joint in self.joints)

    @cached_property
    def unit_twists(self) -> tuple[Twist, ...]:
        """The unit twists of all joints in a row: one for each velocity of the robot."""
        return tuple(twist for twists in self.twists for twist in twists)

    @cached_property
    def velocities(self) -> tuple[tuple[int, Twist], ...]:
        """For each velocity of the robot, the body that it moves and its unit twist."""
        return tuple((i, twist) for i, twists in enumerate(self.twists) for twist in twists)

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """1 for each joint that turns its body, else 0."""
        return tuple(joint.motion.turns for joint in self.joints)

    @cached_property
    def slides(self) -> tuple[int, ...]:
        """1 for each joint that moves its body's origin in the parent, else 0."""
        return tuple(joint.motion.slides for joint in self.joints)

    # ------------------------------------------------------------------ positions

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> NDArray[Any]:
        """The positions reached from q by velocities that last for a time: dv is their product.

        For revolute and prismatic joints it is q + dv.
        """
        reached: NDArray[Any] = np.asarray(q) + np.asarray(dv)
        return reached

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> NDArray[Any]:
        """The dv with which `integrate` leads from q0 to q1.

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

        What is summed up in the parents needs a place for the base, last: see `with_base`.
        """
        return ((i, self.parent[i]) for i in reversed(range(self.nb)))

    def path_to_base(self, i: int) -> Iterator[int]:
        """The bodies from body i, which comes first, to the base, which is left out."""
        while i != BASE:
            yield i
            i = self.parent[i]

    def path(self, i: int) -> list[int]:
        """The bodies from the base, which is left out, to body i, which comes last."""
        return [*self.path_to_base(i)][::-1]
