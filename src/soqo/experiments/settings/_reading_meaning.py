"""What a reading of the paper means in one of its settings: the spectrum of A, c1, and the arguments of SCaLE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from soqo._model.problem import RandomProblem
from soqo._simulation.environment import Environment
from soqo.experiments.settings._paper_settings import PRIMARY
from soqo.experiments.settings._setting import Setting
from soqo.policies import SCaLE

_ELSEWHERE = {
    PRIMARY: 5.0,
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
