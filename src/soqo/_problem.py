"""What a round costs: 1/2 (x-v)'A(x-v) for standing off the minimizer, 1/2 (x-x_prev)'W(x-x_prev) for moving.

The paper has W = I. A plant's actuators differ, so W may be a number, one number per actuator, or a matrix; the change
of coordinates x -> W^{1/2} x brings every such problem back to the paper's (`Problem.plain`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from soqo._arguments import choice, finite_array, integer, number
from soqo._spectrum import Spectrum, positive_semidefinite, quadratic_form, symmetric
from soqo._storage.registry import register
from soqo._streams import per_run
from soqo._values import freeze
from soqo.errors import ArgumentError
from soqo.typing import Array, Rng

__all__ = ["SPACINGS", "Coordinates", "Problem", "RandomProblem", "random_curvature"]

SPACINGS = ("equal", "linear", "geometric")
"""How the nonzero eigenvalues of a random A are laid out between the smallest and the largest."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The map to coordinates in which switching is plain l2: x -> W^{1/2} x.

    Parameters
    ----------
    switching_weight
        The weight W: None (identity), a positive number, a vector of positive numbers (one per actuator) or a positive
        definite matrix.

    Examples
    --------
    >>> coordinates = Coordinates([4.0, 1.0])
    >>> coordinates.to_plain(np.array([1.0, 1.0]))
    array([2., 1.])
    """

    switching_weight: Any = None
    root: Array = field(init=False, repr=False)
    inverse_root: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weight = finite_array("switching_weight", 1.0 if self.switching_weight is None else self.switching_weight)
        if weight.ndim > 2 or weight.size == 0:
            raise ArgumentError(
                f"switching_weight must be None, a number, a vector or a matrix, got an array of shape {weight.shape}"
            )
        if weight.ndim == 2:
            weight = symmetric("switching_weight", weight)
            spectrum = Spectrum.of(weight)
            smallest = float(spectrum.values[0])
            if smallest <= np.finfo(float).eps * weight.shape[0] * abs(spectrum.values[-1]):
                raise ArgumentError(
                    "switching_weight must be positive definite, got a smallest eigenvalue of "
                    f"{smallest:.6g} beside a largest of {spectrum.values[-1]:.6g}"
                )
            root = spectrum.matrix(np.sqrt(spectrum.values))
            inverse_root = spectrum.matrix(1.0 / np.sqrt(spectrum.values))
        else:
            if not (weight > 0).all():
                raise ArgumentError(f"switching_weight must be positive, got {weight.min():g}")
            root = np.asarray(np.sqrt(weight))
            inverse_root = np.asarray(1.0 / root)
        if self.switching_weight is not None:
            object.__setattr__(self, "switching_weight", freeze(weight))
        object.__setattr__(self, "root", freeze(root))
        object.__setattr__(self, "inverse_root", freeze(inverse_root))

    @property
    def dim(self) -> int | None:
        """The dimension, where the weight fixes it."""
        return None if self.root.ndim == 0 else int(self.root.shape[-1])

    def to_plain(self, x: Array) -> Array:
        """From the plant's coordinates to those where switching is plain l2."""
        return times(self.root, x)

    def from_plain(self, z: Array) -> Array:
        """From the coordinates where switching is plain l2 to the plant's."""
        return times(self.inverse_root, z)

    def curvature(self, spectrum: Spectrum) -> Array:
        """W^{-1/2} A W^{-1/2}, A seen from the plain coordinates, for the spectrum of A.

        As a product of A^{1/2} W^{-1/2} with itself, it is positive semi-definite to round-off of its own size, however
        different the weights are.
        """
        half = np.sqrt(spectrum.values)[..., :, None] * spectrum.vectors.swapaxes(-1, -2)
        factor = self.from_plain(half)
        product = np.matmul(factor.swapaxes(-1, -2), factor)
        return np.asarray(0.5 * (product + product.swapaxes(-1, -2)))


@register("Problem")
@dataclass(frozen=True, eq=False)
class Problem:
    """Hitting and switching cost of a round.

    Parameters
    ----------
    A : array_like, shape (d, d) or (runs, d, d)
        The curvature of the hitting cost, symmetric positive semi-definite; one matrix, or one per run.
    switching_weight : None, float, array_like of shape (d,) or (d, d), optional
        The weight of the switching cost; None is the identity, the paper's case.

    Examples
    --------
    >>> problem = Problem([[2.0, 0.0], [0.0, 0.0]])
    >>> problem.dim, problem.rank
    (2, 1)
    >>> float(problem.hitting_cost(x=[1.0, 5.0], v=[0.0, 0.0]))
    1.0
    >>> float(problem.switching_cost(x=[1.0, 5.0], x_prev=[1.0, 3.0]))
    2.0
    """

    A: Any
    switching_weight: Any = None
    spectrum: Spectrum = field(init=False, repr=False)
    coordinates: Coordinates = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, spectrum = positive_semidefinite("A", self.A)
        coordinates = Coordinates(self.switching_weight)
        if coordinates.dim not in (None, A.shape[-1]):
            raise ArgumentError(f"switching_weight must be for dimension {A.shape[-1]} as A is, got {coordinates.dim}")
        object.__setattr__(self, "A", freeze(A))
        object.__setattr__(self, "switching_weight", coordinates.switching_weight)
        object.__setattr__(self, "spectrum", spectrum)
        object.__setattr__(self, "coordinates", coordinates)

    @property
    def dim(self) -> int:
        """The dimension d of an action."""
        return int(self.A.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """``()`` for one A; ``(runs,)`` for one per run."""
        shape: tuple[int, ...] = self.A.shape[:-2]
        return shape

    @property
    def rank(self) -> Any:
        """The numerical rank of A: an int, or an array with one entry per run."""
        values = self.spectrum.values
        floor = values.max(axis=-1, keepdims=True) * self.dim * np.finfo(float).eps
        ranks = (values > floor).sum(axis=-1)
        return int(ranks) if ranks.ndim == 0 else ranks

    @cached_property
    def plain(self) -> Problem:
        """The same problem in coordinates where switching is plain l2; itself if it is already."""
        return self if self.switching_weight is None else Problem(self.coordinates.curvature(self.spectrum))

    def hitting_cost(self, x: Any, v: Any) -> Array:
        """1/2 (x-v)'A(x-v), for x and v of shape (*batch, d)."""
        return quadratic_form(self.A, self._vectors("x", x) - self._vectors("v", v))

    def switching_cost(self, x: Any, x_prev: Any) -> Array:
        """1/2 (x-x_prev)'W(x-x_prev), for x and x_prev of shape (*batch, d)."""
        move = self._vectors("x", x) - self._vectors("x_prev", x_prev)
        result: Array = 0.5 * np.square(self.coordinates.to_plain(move)).sum(axis=-1)
        return result

    def path_costs(self, x: Array, v: Array, x0: Array) -> tuple[Array, Array]:
        """Hitting and switching cost of every round of a path.

        Parameters
        ----------
        x, v : Array, shape (*batch, T, d)
        x0 : Array, shape (*batch, d)

        Returns
        -------
        hitting, switching : Array, shape (*batch, T)
        """
        x = self._vectors("x", x)
        u = x - self._vectors("v", v)
        hitting = 0.5 * (np.matmul(u, self.A) * u).sum(axis=-1)
        start = np.broadcast_to(self._vectors("x0", x0)[..., None, :], (*x.shape[:-2], 1, self.dim))
        moves = self.coordinates.to_plain(np.diff(x, axis=-2, prepend=start))
        return hitting, 0.5 * np.square(moves).sum(axis=-1)

    def total_cost(self, x: Array, v: Array, x0: Array) -> Array:
        """What a whole path costs, shape (*batch,); parameters as in :meth:`path_costs`."""
        hitting, switching = self.path_costs(x, v, x0)
        return np.asarray((hitting + switching).sum(axis=-1))

    def _vectors(self, name: str, value: Any) -> Array:
        result = np.asarray(value, dtype=np.float64)
        if result.ndim == 0 or result.shape[-1] != self.dim:
            raise ArgumentError(f"{name} must have last axis {self.dim}, got shape {result.shape}")
        return result


@register("RandomProblem")
@dataclass(frozen=True, eq=False)
class RandomProblem:
    """A problem whose A is drawn anew for each run of a simulation.

    The parameters are those of :func:`random_curvature`, and the switching weight of :class:`Problem`.

    Examples
    --------
    >>> family = RandomProblem(dim=4, rank=2, min_eigenvalue=0.1, max_eigenvalue=1.0)
    >>> family.draw(np.random.default_rng(0)).rank
    2
    """

    dim: int
    rank: int
    min_eigenvalue: float
    max_eigenvalue: float | None = None
    spacing: str = "linear"
    switching_weight: Any = None

    def __post_init__(self) -> None:
        eigenvalues(self.dim, self.rank, self.min_eigenvalue, self.max_eigenvalue, self.spacing)
        coordinates = Coordinates(self.switching_weight)
        if coordinates.dim not in (None, self.dim):
            raise ArgumentError(f"switching_weight must be for dimension {self.dim}, got {coordinates.dim}")
        object.__setattr__(self, "switching_weight", coordinates.switching_weight)

    def draw(self, rng: Rng) -> Problem:
        """Draw a problem; with a sequence of generators, one A for each of them."""
        A = random_curvature(self.dim, self.rank, self.min_eigenvalue, self.max_eigenvalue, self.spacing, rng=rng)
        return Problem(A, self.switching_weight)


def random_curvature(
    dim: int,
    rank: int,
    min_eigenvalue: float,
    max_eigenvalue: float | None = None,
    spacing: str = "linear",
    *,
    rng: Rng,
) -> Array:
    """A random positive semi-definite matrix with given rank and eigenvalues and Haar-distributed eigenvectors.

    Parameters
    ----------
    dim, rank
        Size and rank of the matrix.
    min_eigenvalue, max_eigenvalue
        Smallest and largest nonzero eigenvalue (the paper's sigma_r, and the one that it leaves open). ``max_eigenvalue`` may
        be left out when the spectrum is ``"equal"`` or the rank is one; a matrix of rank one has the eigenvalue
        ``min_eigenvalue``.
    spacing
        ``"equal"`` (all of them ``min_eigenvalue``), ``"linear"`` or ``"geometric"`` spacing.
    rng
        A generator, or a sequence of them for a batch with one matrix each.

    Returns
    -------
    Array
        Shape (dim, dim), or (len(rng), dim, dim).

    Examples
    --------
    >>> A = random_curvature(3, 2, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(0))
    >>> np.linalg.eigvalsh(A).round(12) + 0.0
    array([0. , 0.5, 2. ])
    """
    values = eigenvalues(dim, rank, min_eigenvalue, max_eigenvalue, spacing)
    batch = (len(rng),) if isinstance(rng, Sequence) else ()
    gaussian = per_run(rng, batch, lambda generator: generator.standard_normal((dim, dim)))
    Q, _ = np.linalg.qr(gaussian)
    # Signs of columns, which QR does not draw at random, do not matter in Q D Q'.
    leading = Q[..., :, :rank]
    A = np.matmul(leading * values, leading.swapaxes(-1, -2))
    symmetrized: Array = 0.5 * (A + A.swapaxes(-1, -2))
    return symmetrized


def eigenvalues(dim: int, rank: int, min_eigenvalue: float, max_eigenvalue: float | None, spacing: str) -> Array:
    """The nonzero eigenvalues that these settings describe, ascending."""
    integer("dim", dim, least=1)
    integer("rank", rank, least=0)
    if rank > dim:
        raise ArgumentError(f"rank must be at most dim = {dim}, got {rank}")
    low = number("min_eigenvalue", min_eigenvalue, above=0.0)
    choice("spacing", spacing, SPACINGS)
    if spacing == "equal" or rank <= 1:
        if max_eigenvalue is not None:
            number("max_eigenvalue", max_eigenvalue, least=low)
        return np.full(rank, low)
    if max_eigenvalue is None:
        raise ArgumentError(f"max_eigenvalue must be given for {spacing} spacing, got None")
    high = number("max_eigenvalue", max_eigenvalue, least=low)
    spaced = np.linspace if spacing == "linear" else np.geomspace
    return np.asarray(spaced(low, high, rank), dtype=np.float64)


def times(weight: Array, x: Array) -> Array:
    """Multiply by a number, a diagonal or a symmetric matrix, whichever the weight is."""
    return np.asarray(x @ weight if weight.ndim == 2 else x * weight, dtype=np.float64)
