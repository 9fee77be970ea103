"""Print the regret of a player who knows that the noise is uniform, beside that of least squares.

python benchmarks/limit_uniform_noise.py [--rounds 100000] [--runs 16]

The readings |y - phi'a| <= cap leave a polytope of possible a = svec(A). The player keeps its vertices, plays LAI for
their mean, and computes them again in the rounds whose reading cuts the polytope, which become rare.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection

from soqo.estimators import smat, svec, svec_rows
from soqo.typing import Array

STEPS, CAP = 5.0, 3.0


class Polytope:
    """The matrices that all readings allow: half spaces g'a <= b, and the vertices."""

    def __init__(self, p: int, size: float) -> None:
        self._normals: Array = np.concatenate([np.eye(p), -np.eye(p)])
        self._bounds: Array = np.full(2 * p, size)
        self.cuts = 0
        self.vertices: Array = np.zeros((1, p))
        self._update()

    def add(self, row: Array, low: float, high: float) -> bool:
        """Add low <= row'a <= high, and return whether it cuts the polytope."""
        reach = self.vertices @ row
        if reach.max() <= high and reach.min() >= low:
            return False
        self._normals = np.concatenate([self._normals, row[None], -row[None]])
        self._bounds = np.append(self._bounds, [high, -low])
        self.cuts += 1
        self._update()
        return True

    def _update(self) -> None:
        """Compute the vertices, in coordinates in which the polytope has about unit size, and drop redundant bounds."""
        p = self._normals.shape[1]
        center, size = np.zeros(p), np.full(p, self._bounds.max())
        if self.cuts:
            center = self.vertices.mean(axis=0)
            size = np.maximum(np.ptp(self.vertices, axis=0), 1e-300)
        normals, bounds = self._normals * size, self._bounds - self._normals @ center
        length = np.linalg.norm(normals, axis=1)
        normals, bounds = normals / length[:, None], bounds / length
        if p == 1:
            self.vertices = center + size * np.array(
                [[-bounds[normals[:, 0] < 0].min()], [bounds[normals[:, 0] > 0].min()]]
            )
            return
        found = linprog(
            np.append(np.zeros(p), -1.0),
            A_ub=np.column_stack([normals, np.ones(len(bounds))]),
            b_ub=bounds,
            bounds=[(None, None)] * p + [(0.0, None)],
        )
        if found.x is None or found.x[-1] < 1e-13:
            return  # round-off: keep the vertices of before, which contain the polytope
        vertices = HalfspaceIntersection(np.column_stack([normals, -bounds]), found.x[:p]).intersections
        vertices = vertices[np.isfinite(vertices).all(axis=1)]
        tight = (np.abs(normals @ vertices.T - bounds[:, None]) < 1e-9).any(axis=1)
        self._normals, self._bounds = self._normals[tight], self._bounds[tight]
        self.vertices = center + size * vertices


def gain(A: Array) -> Array:
    """Return C of an infinite horizon for the positive semi-definite part of A."""
    values, Q = np.linalg.eigh(A)
    values = np.maximum(values, 0.0)
    return np.asarray((Q * (1.0 + values / 2.0 - np.sqrt(values + np.square(values) / 4.0))) @ Q.T)


def play(A: Array, rounds: int, seed: int, *, member: bool, checkpoints: list[int]) -> tuple[list[float], int]:
    """Return the regret of one run at the checkpoints, and the number of cuts."""
    rng = np.random.default_rng(seed)
    d = len(A)
    p = d * (d + 1) // 2
    C = gain(A)
    inverse = np.linalg.inv(C)
    polytope = Polytope(p, 20.0)
    mean, covariance = svec(np.eye(d)), 100.0 * np.eye(p)
    played, u, total, found = gain(np.eye(d)), np.zeros(d), 0.0, []
    steps, noise = STEPS * rng.standard_normal((rounds, d)), CAP * rng.uniform(-1.0, 1.0, rounds)
    for t in range(rounds):
        w = u - steps[t]
        u = played @ w
        error = u - C @ w
        total += 0.5 * float(error @ inverse @ error)
        row, y = svec_rows(u), 0.5 * float(u @ A @ u) + noise[t]
        if member:
            if polytope.add(row, y - CAP, y + CAP):
                played = gain(smat(polytope.vertices.mean(axis=0)))
        else:
            spread = covariance @ row
            step = spread / (CAP**2 / 3.0 + row @ spread)
            mean = mean + step * (y - row @ mean)
            covariance = covariance - np.outer(step, spread)
            played = gain(smat(mean))
        if t + 1 in checkpoints:
            found.append(total)
    return found, polytope.cuts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=16)
    given = parser.parse_args()
    checkpoints = [10**k for k in range(1, round(math.log10(given.rounds)) + 1)]
    names = [f"T=1e{k}" for k in range(1, len(checkpoints) + 1)]
    print(f"{'eigenvalues':<14}{'estimate':<16}" + "".join(f"{name:>9}" for name in names) + "  last decade     cuts")
    for A in (np.array([[0.5]]), np.diag([1.0, 0.3])):
        for label, member in (("least squares", False), ("polytope", True)):
            runs = [play(A, given.rounds, seed, member=member, checkpoints=checkpoints) for seed in range(given.runs)]
            regret = np.array([each for each, _ in runs])
            last = regret[:, -1] - regret[:, -2]
            error = last.std(ddof=1) / math.sqrt(given.runs)
            cells = "".join(f"{value:>9.4g}" for value in regret.mean(axis=0))
            cuts = f"{np.mean([cuts for _, cuts in runs]):>6.0f}" if member else ""
            values = ", ".join(f"{a:g}" for a in np.diagonal(A))
            print(f"{values:<14}{label:<16}{cells}  {last.mean():.2g} +- {error:.1g} {cuts}", flush=True)


if __name__ == "__main__":
    main()
