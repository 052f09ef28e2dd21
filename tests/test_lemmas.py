"""The derivative lemmas of Balafoutis and Patel 1991, appendix C, behind the linearised models."""

import numpy as np
import pytest
from support.robots import deviation, random_arm, states

from armlet.algebra import angular_acceleration_tensor, cross, euler, point_inertia, skew
from armlet.dynamics import definition
from armlet.minimal.lumping import augment


def links(robot, q, qd, qdd):
    """What the lemmas are about, a row a link, in base axes: from the definition, any scalars."""
    n = robot.nv
    T, w, wd, v, a = definition.motion(robot, q, qd, qdd, -robot.g)
    bodies = [*definition.bodies(robot, T)]
    W, o = ([T[i][:3, part] for i in range(n)] for part in (slice(3), 3))
    Om = [angular_acceleration_tensor(w[i], wd[i]) for i in range(n)]
    K = [R @ K @ R.T for R, (_, _, K) in zip(W, augment(robot).bodies, strict=True)]
    U, Ud, Udd, eta = np.zeros((4, n, 3), dtype=object)
    E, L = np.zeros((2, n, 3, 3), dtype=object)
    for i in range(n):
        for k, m, c, J in bodies[i:]:
            r, rd, rdd = o[k] - o[i], v[k] - v[i], a[k] - a[i]
            U[i] += m * r + c
            Ud[i] += m * rd + cross(w[k], c)
            Udd[i] += m * rdd + Om[k] @ c
            force = m * a[k] + Om[k] @ c
            eta[i] += J @ wd[k] + cross(w[k], J @ w[k]) + cross(c, a[k]) + cross(r, force)
            com = c / m
            I, arm, rate = J - point_inertia(m, com), r + com, rd + cross(w[k], com)
            E[i] += I + point_inertia(m, arm)
            L[i] += skew(w[k]) @ euler(I) + m * skew(arm) @ skew(rate)
    z = [R[:, 2] for R in W]
    found = {
        "W": W,
        "w": w[:n],
        "wd": wd[:n],
        "Om": Om,
        "v": v[:n],
        "a": a[:n],
        "o": o,
        "z": z,
        "zd": [cross(*x) for x in zip(w, z, strict=False)],
        "zdd": [x @ y for x, y in zip(Om, z, strict=True)],
        "Wd": [skew(x) @ R for x, R in zip(w, W, strict=False)],
        "Wdd": [x @ R for x, R in zip(Om, W, strict=True)],
        "mu": [k @ y + cross(x, k @ x) for k, x, y in zip(K, w, wd, strict=False)],
        "K": K,
        "U": U,
        "Ud": Ud,
        "Udd": Udd,
        "E": E,
        "L": L,
        "eta": eta,
    }
    return {name: np.array(x, dtype=object) for name, x in found.items()}


def in_own_axes(at, name, i):
    """A vector or tensor of link i in its own axes; W and its rates stay in those of the base."""
    x, R = at[name][i], at["W"][i]
    if name[0] == "W":
        return x
    return R.T @ x if x.ndim == 1 else R.T @ x @ R


class Link:
    """Link i of an arm, derivatives of its motion by joint j, and what the lemmas say them in.

    What is read as an attribute is in the axes of link i.
    """

    def __init__(self, robot, state, i, j):
        self.at, self.i, self.j = links(robot, *state), i, j
        self.moved = {}
        for part, name in enumerate(("q", "qd", "qdd")):
            state_moved = [np.array(x, dtype=complex) for x in state]
            state_moved[part][j] += 1j * definition.STEP
            self.moved[name] = links(robot, *state_moved)

    def by(self, wrt, name, i=None):
        i = self.i if i is None else i
        x = in_own_axes(self.moved[wrt], name, i).astype(complex)
        return x.imag / definition.STEP

    def of(self, name, k):
        """A quantity of link k, in the axes of link i."""
        x, R = self.at[name][k], self.at["W"][self.i]
        return (R.T @ x if x.ndim == 1 else R.T @ x @ R).astype(float)


def same(found, expected):
    assert deviation(found, np.asarray(expected, dtype=float)) < 1e-9


@pytest.fixture(params=[(seed, i, j) for seed in (1, 5, 9) for i in range(4) for j in range(4)])
def link(request):
    seed, i, j = request.param
    robot = random_arm(seed, 4, "R")
    return Link(robot, [x[0] for x in states(robot, seed=seed)], i, j)


def test_lemmas_of_rotations(link):
    """C-1 to C-4, (C.6) and (C.7)."""
    i, j, at = link.i, link.j, link.at
    W, Wd = (at[name][i].astype(float) for name in ("W", "Wd"))
    z, zd, zdd = (skew(link.of(name, j)) for name in ("z", "zd", "zdd"))
    w, Om = skew(link.of("w", i)), link.of("Om", i)
    known = float(j <= i)
    same(link.by("q", "W"), known * W @ z)
    same(link.by("qd", "Wd"), link.by("q", "W"))
    same(link.by("qdd", "Wdd"), link.by("q", "W"))
    same(link.by("qd", "Wdd"), 2 * link.by("q", "Wd"))
    same(link.by("q", "Wd"), known * W @ (zd + z @ w))
    same(link.by("q", "Wdd"), known * W @ (zdd + 2 * zd @ w + z @ Om))
    if j == i:
        p = np.eye(3) if i == 0 else at["W"][i - 1].astype(float)
        w_p = np.zeros((3, 3)) if i == 0 else skew(at["w"][i - 1].astype(float))
        same(p.T @ link.by("q", "W"), p.T @ W @ z)
        same(p.T @ (link.by("q", "Wd") - w_p @ link.by("q", "W")), p.T @ (Wd - w_p @ W) @ z)
    if j < i:
        W_j, Wd_j, Wdd_j = (at[name][j] for name in ("W", "Wd", "Wdd"))
        w_j, Om_j = skew(link.of("w", j)), link.of("Om", j)
        inner, Wdd = W.T @ W_j, at["Wdd"][i]
        same(inner @ (Wd_j.T @ W + W_j.T @ Wd), w - w_j)
        rate = Wdd_j.T @ W + 2 * Wd_j.T @ Wd + W_j.T @ Wdd
        same(inner @ rate, Om + Om_j.T - 2 * w_j @ w)


def test_lemmas_of_motions(link):
    """C-5 to C-8, and C-11: angular velocity, Ω, angular acceleration, μ, acceleration."""
    i, j = link.i, link.j
    z, zd, zdd = (float(j <= i) * link.of(name, j) for name in ("z", "zd", "zdd"))
    w, K = link.of("w", i), link.of("K", i)
    L_own = skew(w) @ euler(K)
    s, sd = (link.of(name, i) - link.of(name, j) for name in ("o", "v"))
    lemmas = {
        "w": (zd, z, 0 * z),
        "Om": (skew(zdd) + 2 * skew(zd) @ skew(w), 2 * (skew(zd) + skew(z) @ skew(w)), skew(z)),
        "wd": (zdd + cross(zd, w), 2 * zd + cross(z, w), z),
        "mu": (K @ zdd - 2 * L_own @ zd, 2 * (K @ zd - L_own @ z), K @ z),
        "a": (
            cross(zdd, s) + 2 * cross(zd, sd) - cross(z, link.of("a", j)),
            2 * (cross(zd, s) + cross(z, sd)),
            cross(z, s),
        ),
    }
    for name, (by_q, by_qd, by_qdd) in lemmas.items():
        same(link.by("q", name), by_q)
        same(link.by("qd", name), by_qd)
        same(link.by("qdd", name), by_qdd)


def test_lemmas_of_first_moments_and_offsets(link):
    """C-9 and C-10: the second rates of the composite's first moment and of the next offset."""
    i, j = link.i, link.j
    k = max(i, j)
    z, zd, zdd = (link.of(name, j) for name in ("z", "zd", "zdd"))
    U, Ud, Udd = (link.of(name, k) for name in ("U", "Ud", "Udd"))
    turn = float(j > i) * cross(z, Udd)
    same(link.by("q", "Udd"), cross(zdd, U) + 2 * cross(zd, Ud) + turn)
    same(link.by("qd", "Udd"), 2 * (cross(zd, U) + cross(z, Ud)))
    same(link.by("qdd", "Udd"), cross(z, U))
    if j <= i < 3:
        s, sd = (link.of(name, i + 1) - link.of(name, i) for name in ("o", "v"))
        R = link.at["W"][i].T @ link.at["W"][i + 1]
        expected = (
            cross(zdd, s) + 2 * cross(zd, sd),
            2 * (cross(zd, s) + cross(z, sd)),
            cross(z, s),
        )
        for wrt, derivative in zip(("q", "qd", "qdd"), expected, strict=True):
            same(R @ link.by(wrt, "a", i + 1) - link.by(wrt, "a"), derivative)


def test_lemma_of_moments(link):
    """C-12: the vectors in the closed forms (7.3.2)-(7.3.4)."""
    i, j = link.i, link.j
    k = max(i, j)
    z, zd, zdd = (link.of(name, j) for name in ("z", "zd", "zdd"))
    E, L, U, Ud, Udd = (link.of(name, k) for name in ("E", "L", "U", "Ud", "Udd"))
    s, sd = (skew(link.of(name, k) - link.of(name, min(i, j))) for name in ("o", "v"))
    a = skew(link.of("a", j))
    if j <= i:
        bracket, rate = E - skew(U) @ s, L + skew(U) @ sd
        still = skew(U) @ a
    else:
        bracket, rate = E - s @ skew(U), L + s @ skew(Ud)
        still = skew(U) @ a - s @ skew(Udd) - skew(link.of("eta", j))
    same(link.by("qdd", "eta"), bracket @ z)
    same(link.by("qd", "eta"), 2 * (bracket @ zd - rate @ z))
    same(link.by("q", "eta"), bracket @ zdd - 2 * rate @ zd + still @ z)
