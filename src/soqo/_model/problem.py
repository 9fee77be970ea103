"""The cost of a round: 1/2 (x-v)'A(x-v) for the distance to the minimizer, 1/2 (x-x_prev)'W(x-x_prev) for moving.

The paper has W = I. The actuators of a plant differ, so W may be a number, one number per actuator, or a matrix; the
change of coordinates x -> W^{1/2} x reduces every such problem to the paper's (`Problem.plain`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import get_args

import numpy as np

from soqo._foundation.arguments import choice, integer, number
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._foundation.random_streams import draw_per_run
from soqo._model.coordinates import Coordinates
from soqo._model.spectrum import Spectrum, positive_semidefinite, quadratic_form
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike, IntArray, RngLike, Spacing


@register("Problem")
@dataclass(frozen=True)
class Problem(Value):
    """Hitting and switching cost of a round.

    Parameters
    ----------
    A : array_like, shape (d, d) or (runs, d, d)
        The curvature of the hitting cost, symmetric positive semi-definite; one matrix, or one per run.
    switching_weight : None, float or array_like of shape (d,) or (d, d), optional
        The weight W of the switching cost; None is the identity, the paper's case.

    Raises
    ------
    ArgumentError
        If A is not symmetric positive semi-definite, or W is not positive definite or of another dimension than A.

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

    A: Array
    switching_weight: Array | None = None
    spectrum: Spectrum = field(init=False)
    coordinates: Coordinates = field(init=False)

    def __init__(self, A: ArrayLike, switching_weight: ArrayLike | None = None) -> None:
        matrix, spectrum = positive_semidefinite("A", A)
        coordinates = Coordinates(switching_weight)
        dim = matrix.shape[-1]
        if coordinates.dim not in (None, dim):
            raise ArgumentError(f"switching_weight must be for dimension {dim} as A is, got {coordinates.dim}")
        set_fields(self, A=freeze(matrix), switching_weight=coordinates.switching_weight)
        set_fields(self, spectrum=spectrum, coordinates=coordinates)

    @property
    def dim(self) -> int:
        """The dimension d of an action."""
        return int(self.A.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch shape of A: ``()`` for one A, ``(runs,)`` for one per run."""
        return self.A.shape[:-2]

    @property
    def rank(self) -> int | IntArray:
        """The numerical rank of A: an int, or an array with one entry per run."""
        values = self.spectrum.values
        floor = values.max(axis=-1, keepdims=True) * self.dim * np.finfo(float).eps
        ranks = (values > floor).sum(axis=-1)
        return int(ranks) if ranks.ndim == 0 else ranks

    @cached_property
    def plain(self) -> Problem:
        """The same problem in coordinates where switching is plain l2; itself if W is the identity."""
        return self if self.switching_weight is None else Problem(self.coordinates.curvature(self.spectrum))

    def hitting_cost(self, x: ArrayLike, v: ArrayLike) -> Array:
        """Return 1/2 (x-v)'A(x-v).

        Parameters
        ----------
        x, v : array_like, shape (*batch, d)
            Actions and minimizers.

        Returns
        -------
        Array, shape (*batch,)
            The hitting costs.
        """
        return quadratic_form(self.A, self._vectors("x", x) - self._vectors("v", v))

    def switching_cost(self, x: ArrayLike, x_prev: ArrayLike) -> Array:
        """Return 1/2 (x-x_prev)'W(x-x_prev).

        Parameters
        ----------
        x, x_prev : array_like, shape (*batch, d)
            Actions and those of the round before.

        Returns
        -------
        Array, shape (*batch,)
            The switching costs.
        """
        return self._move_cost(self._vectors("x", x) - self._vectors("x_prev", x_prev))

    def path_costs(self, x: ArrayLike, v: ArrayLike, *, x0: ArrayLike) -> tuple[Array, Array]:
        """Return the hitting and the switching cost of every round of a path.

        Parameters
        ----------
        x, v : array_like, shape (*batch, T, d)
            Actions and minimizers.
        x0 : array_like, shape (*batch, d)
            The action before the first round.

        Returns
        -------
        hitting, switching : Array, shape (*batch, T)
            The costs.
        """
        actions = self._vectors("x", x)
        u = actions - self._vectors("v", v)
        hitting = 0.5 * (np.matmul(u, self.A) * u).sum(axis=-1)
        start = np.broadcast_to(self._vectors("x0", x0)[..., None, :], (*actions.shape[:-2], 1, self.dim))
        return hitting, self._move_cost(np.diff(actions, axis=-2, prepend=start))

    def total_cost(self, x: ArrayLike, v: ArrayLike, *, x0: ArrayLike) -> Array:
        """Return the sum of all costs of a path.

        Parameters
        ----------
        x, v : array_like, shape (*batch, T, d)
            Actions and minimizers.
        x0 : array_like, shape (*batch, d)
            The action before the first round.

        Returns
        -------
        Array, shape (*batch,)
            The total costs.
        """
        hitting, switching = self.path_costs(x, v, x0=x0)
        return np.asarray((hitting + switching).sum(axis=-1))

    def _move_cost(self, move: Array) -> Array:
        cost: Array = 0.5 * np.square(self.coordinates.to_plain(move)).sum(axis=-1)
        return cost

    def _vectors(self, name: str, value: ArrayLike) -> Array:
        result = np.asarray(value, dtype=np.float64)
        if result.ndim == 0 or result.shape[-1] != self.dim:
            raise ArgumentError(f"{name} must have last axis {self.dim}, got shape {result.shape}")
        return result


@register("RandomProblem")
@dataclass(frozen=True)
class RandomProblem(Value):
    """A problem whose A is drawn for each run of a simulation.

    Parameters
    ----------
    dim, rank, min_eigenvalue, max_eigenvalue, spacing
        As in :func:`random_curvature`.
    switching_weight : None, float or array_like of shape (d,) or (d, d), optional
        As in :class:`Problem`.

    Examples
    --------
    >>> family = RandomProblem(dim=4, rank=2, min_eigenvalue=0.1, max_eigenvalue=1.0)
    >>> family.draw(0).rank
    2
    """

    dim: int
    rank: int
    _: KW_ONLY
    min_eigenvalue: float
    max_eigenvalue: float | None = None
    spacing: Spacing = "linear"
    switching_weight: ArrayLike | None = None

    def __post_init__(self) -> None:
        low, high = _check_eigenvalues(self.dim, self.rank, self.min_eigenvalue, self.max_eigenvalue, self.spacing)
        set_fields(self, dim=int(self.dim), rank=int(self.rank), min_eigenvalue=low)
        if self.max_eigenvalue is not None:
            set_fields(self, max_eigenvalue=high)
        coordinates = Coordinates(self.switching_weight)
        if coordinates.dim not in (None, self.dim):
            raise ArgumentError(f"switching_weight must be for dimension {self.dim}, got {coordinates.dim}")
        set_fields(self, switching_weight=coordinates.switching_weight)

    def draw(self, rng: RngLike) -> Problem:
        """Draw a problem.

        Parameters
        ----------
        rng : int, numpy.random.Generator or sequence of Generators
            A seed or a generator; with a sequence of generators, one A is drawn from each of them.

        Returns
        -------
        Problem
            A problem with one A, or with one per generator of a sequence.
        """
        return Problem(_draw_matrix(self._eigenvalues(), self.dim, rng), self.switching_weight)

    def _eigenvalues(self) -> Array:
        return _eigenvalues(self.dim, self.rank, self.min_eigenvalue, self.max_eigenvalue, self.spacing)


def random_curvature(
    dim: int,
    rank: int,
    *,
    min_eigenvalue: float,
    max_eigenvalue: float | None = None,
    spacing: Spacing = "linear",
    rng: RngLike,
) -> Array:
    """Draw a positive semi-definite matrix with given rank and eigenvalues and Haar-distributed eigenvectors.

    Parameters
    ----------
    dim, rank : int
        Size and rank of the matrix.
    min_eigenvalue, max_eigenvalue : float
        The smallest nonzero eigenvalue (the paper's sigma_r) and the largest, which the paper leaves open.
        ``max_eigenvalue`` may be omitted if the spacing is ``"equal"`` or the rank is one; a matrix of rank one has the
        eigenvalue ``min_eigenvalue``.
    spacing : {"equal", "linear", "geometric"}
        The spacing of the nonzero eigenvalues; ``"equal"`` sets all of them to ``min_eigenvalue``.
    rng : int, numpy.random.Generator or sequence of Generators
        A seed or a generator; a sequence of generators gives a batch with one matrix each.

    Returns
    -------
    Array, shape (dim, dim) or (len(rng), dim, dim)
        The matrix, or the batch of matrices.

    See Also
    --------
    RandomProblem : Draws such a matrix for each run of a simulation.

    Examples
    --------
    >>> A = random_curvature(3, 2, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=0)
    >>> np.linalg.eigvalsh(A).round(12) + 0.0
    array([0. , 0.5, 2. ])
    """
    return _draw_matrix(_eigenvalues(dim, rank, min_eigenvalue, max_eigenvalue, spacing), dim, rng)


def _draw_matrix(values: Array, dim: int, rng: RngLike) -> Array:
    """Draw a matrix with these nonzero eigenvalues and Haar-distributed eigenvectors."""
    batch = (len(rng),) if isinstance(rng, Sequence) else ()
    gaussian = draw_per_run(rng, batch, lambda generator: generator.standard_normal((dim, dim)))
    Q, _ = np.linalg.qr(gaussian)
    # QR does not draw the signs of the columns at random, but they cancel in Q D Q'.
    leading = Q[..., :, : values.size]
    A = np.matmul(leading * values, leading.swapaxes(-1, -2))
    symmetrized: Array = 0.5 * (A + A.swapaxes(-1, -2))
    return symmetrized


def _eigenvalues(dim: int, rank: int, min_eigenvalue: float, max_eigenvalue: float | None, spacing: str) -> Array:
    """Return the nonzero eigenvalues that these settings describe, ascending."""
    low, high = _check_eigenvalues(dim, rank, min_eigenvalue, max_eigenvalue, spacing)
    if spacing == "equal" or rank <= 1:
        return np.full(rank, low)
    space = np.linspace if spacing == "linear" else np.geomspace
    return np.asarray(space(low, high, rank), dtype=np.float64)


def _check_eigenvalues(
    dim: int, rank: int, min_eigenvalue: float, max_eigenvalue: float | None, spacing: str
) -> tuple[float, float]:
    """Check the settings of a spectrum, in no more time and memory for a large one; return its two ends."""
    integer("dim", dim, least=1)
    integer("rank", rank, least=0)
    if rank > dim:
        raise ArgumentError(f"rank must be at most dim = {dim}, got {rank}")
    low = number("min_eigenvalue", min_eigenvalue, above=0.0)
    choice("spacing", spacing, get_args(Spacing))
    high = low if max_eigenvalue is None else number("max_eigenvalue", max_eigenvalue, least=low)
    if max_eigenvalue is None and spacing != "equal" and rank > 1:
        raise ArgumentError(f"max_eigenvalue must be given for {spacing} spacing, got None")
    return low, high
