"""Interpretations of the paper: the choices that its text leaves open, and what they mean in a setting.

A reading is one value on each of six axes. The paper's text supports every value; where it names none, the value is
ours, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Literal

from soqo._foundation.arguments import choice
from soqo._model.problem import RandomProblem
from soqo._simulation.environment import Environment
from soqo.experiments.settings._setting import Setting
from soqo.policies import SCaLE


@dataclass(frozen=True)
class Choice:
    """A value on an axis.

    Attributes
    ----------
    key : str
        The value in a :class:`Reading`.
    label : str
        The value in a few words.
    source : str
        Its place in the paper, or "our choice".
    """

    key: str
    label: str
    source: str


AXES: Mapping[str, tuple[Choice, ...]] = {
    "gamma2": (
        Choice("algorithm", "gamma^2 = sqrt(eta) max(T^p, 1/sigma)", "Algorithm 1"),
        Choice("appendix", "gamma^2 = sqrt(eta) max((T-m)^p, 2/sigma)", "Appendix, proof of Corollary 1"),
        Choice(
            "guarantee",
            "gamma^2 = eta max(T^p, 2/sigma)",
            "what the error stated in the proof of Corollary 1 needs",
        ),
    ),
    "radius": (
        Choice("cap", "radius eta m, virtual handover", "Algorithm 1, lines 6 to 11"),
        Choice("exact", "radius |eta|_1, direct handover", "Appendix, proof of Theorem 3"),
        Choice("residual", "radius from the residual, direct handover", "our choice: |eta|_1 is not known to a player"),
    ),
    "gradient": (
        Choice("as_printed", "gradient as printed, for all learners", "Section 3.3"),
        Choice("exact", "exact gradient, for all learners", "Algorithm 2, line 6: the gradient of the l2 loss"),
    ),
    "spectrum": (
        Choice("linear_1", "eigenvalues linear up to 1 (10 if sigma_r = 1)", "our choice: only sigma_r is given"),
        Choice("linear_10", "eigenvalues linear up to 10", "our choice: only sigma_r is given"),
        Choice("geometric", "eigenvalues geometric up to 1 (10 if sigma_r = 1)", "our choice: only sigma_r is given"),
    ),
    "c1": (
        Choice("captions", "c1 as in the captions", "captions of Figures 3 to 5 and of the appendix"),
        Choice(
            "elsewhere", "c1 from m = 80 and from the names of files", "Section 4.2: m = 80; names of figures' files"
        ),
        Choice("tuned", "c1 with the least regret in the setting", "Section 4.2, hyperparameter tuning: line search"),
    ),
    "statistic": (
        Choice("mean", "mean over the runs", "Definition 3: regret is an expectation"),
        Choice("median", "median over the runs", "our choice: a few runs dominate the mean"),
    ),
}
"""The axes of a reading with their values, the most literal first."""


@dataclass(frozen=True)
class Reading:
    """One value on each axis of :data:`AXES`; None on an axis that does not matter for a claim.

    Attributes
    ----------
    gamma2, radius, gradient, spectrum, c1, statistic : str or None
        The keys of the values.

    Examples
    --------
    >>> Reading().key
    'algorithm/cap/as_printed/linear_1/captions/mean'
    >>> Reading(c1="tuned").changes()
    {'c1': 'tuned'}
    """

    gamma2: str | None = "algorithm"
    radius: str | None = "cap"
    gradient: str | None = "as_printed"
    spectrum: str | None = "linear_1"
    c1: str | None = "captions"
    statistic: str | None = "mean"

    def __post_init__(self) -> None:
        for axis, value in self.items():
            if value is not None:
                choice(axis, value, tuple(one.key for one in AXES[axis]))

    @property
    def key(self) -> str:
        """The values in the order of the axes, with ``*`` on an axis that does not matter."""
        return "/".join(value or "*" for _, value in self.items())

    def items(self) -> Iterator[tuple[str, str | None]]:
        """Iterate over the axes and their values."""
        return ((one.name, getattr(self, one.name)) for one in fields(self))

    def on(self, axes: Iterable[str]) -> Reading:
        """Return the reading with None on all axes but these.

        Parameters
        ----------
        axes : iterable of str
            The names of the axes to keep.
        """
        kept = set(axes)
        return Reading(**{axis: value if axis in kept else None for axis, value in self.items()})

    def filled(self) -> Reading:
        """Return the reading with the most literal value on each axis that does not matter.

        Examples
        --------
        >>> Reading(radius="exact").on(["radius"]).filled().key
        'algorithm/exact/as_printed/linear_1/captions/mean'
        """
        return Reading(**{axis: value or AXES[axis][0].key for axis, value in self.items()})

    def changes(self) -> dict[str, str]:
        """Return the values that differ from the most literal reading."""
        return {a: v for a, v in self.items() if v is not None and v != AXES[a][0].key}

    def describe(self) -> str:
        """Return the difference to the most literal reading in words."""
        labels = {axis: {one.key: one.label for one in values} for axis, values in AXES.items()}
        return "; ".join(labels[axis][value] for axis, value in self.changes().items()) or "to the letter"


LITERAL = Reading()
"""The most literal reading."""


def all_readings(axes: Iterable[str] = tuple(AXES)) -> tuple[Reading, ...]:
    """Return every reading on some axes, the most literal first, with None on the others.

    Parameters
    ----------
    axes : iterable of str
        The axes that matter.

    Examples
    --------
    >>> len(all_readings()), len(all_readings(["gamma2", "statistic"]))
    (324, 6)
    """
    kept = set(axes)
    values = [[one.key for one in choices] if axis in kept else [None] for axis, choices in AXES.items()]
    return tuple(Reading(*combination) for combination in product(*values))


def few_readings() -> tuple[Reading, ...]:
    """Return the literal reading, and each reading that differs from it on one axis; all with means and medians.

    Examples
    --------
    >>> len(few_readings())
    20
    """
    changed = [LITERAL]
    for axis, choices in AXES.items():
        if axis != "statistic":
            changed += [Reading(**{axis: one.key}) for one in choices[1:]]
    return tuple(
        Reading(**{**dict(reading.items()), "statistic": one.key}) for reading in changed for one in AXES["statistic"]
    )


# ---- what a reading means in a setting -----------------------------------------------------------------------------

_ELSEWHERE = {
    "primary": 5.0,
    **dict.fromkeys(("gaussian_r1_1", "gaussian_r1_0.01", "cauchy_r1_1", "cauchy_r1_0.01"), 10.0),
    **dict.fromkeys(("correlated_r1_1", "correlated_r1_0.01"), 15.0),
    **dict.fromkeys(("correlated_r4_1", "correlated_r4_0.01"), 5.0),
}
"""The c1 of a setting elsewhere in the paper: from m = 80 in the text (5), from the names of figures' files (15 and 5
for correlated steps), and from the figure of the main text with the same steps and rank (10)."""

_GRIDS = {4: (1.0, 2.0, 3.0, 5.0, 10.0), 1: (3.0, 5.0, 10.0, 15.0, 30.0)}
"""The values of c1 that the line search tries, by the rank."""


def canonical_spectrum(setting: Setting, spectrum: str | None) -> str:
    """Return the first of the spectra that are the same in a setting.

    Parameters
    ----------
    setting : Setting
        The setting.
    spectrum : str or None
        As in :class:`Reading`.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> canonical_spectrum(find("gaussian_r1_1")[0], "geometric"), canonical_spectrum(find("primary")[0], "geometric")
    ('linear_1', 'geometric')
    """
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    if problem.rank == 1 or setting.swept or spectrum is None:
        return "linear_1"
    return "linear_1" if spectrum == "linear_10" and problem.min_eigenvalue >= 1.0 else spectrum


def with_spectrum(setting: Setting, spectrum: str) -> Environment:
    """Return the environment of a setting with another spectrum of A.

    Parameters
    ----------
    setting : Setting
        The setting.
    spectrum : str
        As :func:`canonical_spectrum` returns it.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> with_spectrum(find("primary")[0], "geometric").problem.spacing
    'geometric'
    """
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    if problem.rank == 1 or setting.swept:
        return setting.environment
    largest = 10.0 if spectrum == "linear_10" or problem.min_eigenvalue >= 1.0 else 1.0
    spacing: Literal["linear", "geometric"] = "geometric" if spectrum == "geometric" else "linear"
    changed = replace(problem, max_eigenvalue=largest, spacing=spacing)
    return replace(setting.environment, problem=changed)


def captions_c1(setting: Setting) -> float:
    """Return the c1 of a setting's caption.

    Parameters
    ----------
    setting : Setting
        The setting.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> captions_c1(find("primary")[0])
    3.0
    """
    policy = setting.policies["SCaLE as printed"]
    assert isinstance(policy, SCaLE)
    return policy.c1


def c1_values(setting: Setting, choice: str | None) -> tuple[float, ...]:
    """Return the c1 of a reading, or the grid of the line search if it is tuned.

    Parameters
    ----------
    setting : Setting
        The setting.
    choice : str or None
        As in :class:`Reading`.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> c1_values(find("primary")[0], "elsewhere"), c1_values(find("primary")[0], "tuned")
    ((5.0,), (1.0, 2.0, 3.0, 5.0, 10.0))
    """
    if setting.swept:
        return tuple(sorted({point.value for point in setting.swept.values()}))
    own = captions_c1(setting)
    if choice == "tuned":
        problem = setting.environment.problem
        assert isinstance(problem, RandomProblem)
        return _GRIDS[problem.rank]
    return (_ELSEWHERE.get(setting.name, own) if choice == "elsewhere" else own,)


def scale_arguments(setting: Setting, gamma2: str, radius: str) -> dict[str, Any]:
    """Return the arguments of SCaLE in a reading, whose handover and fallback are those of the radius's place.

    Parameters
    ----------
    setting : Setting
        The setting.
    gamma2, radius : str
        As in :class:`Reading`.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> scale_arguments(find("primary")[0], "algorithm", "cap")["handover"]
    'virtual'
    """
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    return {
        "noise_cap": setting.environment.noise.bound,
        "rank": problem.rank,
        "min_eigenvalue": problem.min_eigenvalue,
        "gamma2": gamma2,
        "radius": radius,
        "handover": "virtual" if radius == "cap" else "direct",
        "fallback": "least_squares" if radius == "residual" else "none",
    }
