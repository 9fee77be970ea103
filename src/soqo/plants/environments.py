"""Plants as Gymnasium environments (extra ``gym``).

Importing this module registers ``soqo/Quadratic-v0``, ``soqo/WindFarm-v0`` and ``soqo/DataCenter-v0``.

>>> import gymnasium
>>> import soqo.plants.environments
>>> environment = gymnasium.make("soqo/Quadratic-v0", rounds=100)
>>> observation, info = environment.reset(seed=0)
>>> sorted(observation)
['active', 'age', 'factor', 'reading', 'v', 'x']
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from soqo._foundation.arguments import instance, integer, number
from soqo._model.problem import random_curvature
from soqo.plants._data_center._center import DataCenter
from soqo.plants._plant import Conditions, Plant
from soqo.plants._quadratic import Quadratic
from soqo.plants._wind_farm._farm import WindFarm
from soqo.typing import Array

__all__ = ["Observation", "PlantEnvironment", "make_data_center", "make_quadratic", "make_wind_farm"]

Observation = dict[str, Array]
"""What an agent sees: ``x``, ``v``, ``factor``, ``active``, and the last ``reading`` with its ``age``."""


class PlantEnvironment(gymnasium.Env[Observation, Array]):
    """A plant as an environment: an action is a move, and the reward is minus the cost in kW.

    The observation has the position ``x`` and the minimizer ``v`` of the round that begins (at the turn nearest to x if
    they are angles), the known ``factor`` of its hitting cost, which actuators are ``active`` (1 or 0), and the reading
    of the latest round of which one has arrived, with its ``age`` in rounds (both 0 if there was none). The cost is
    that of the place where a lagging plant is felt. ``info`` has ``lost``, ``wear`` and ``reading`` (NaN if there is
    none, or none yet) of the round that ended, and in ``readings`` all that have just arrived, with what
    :meth:`soqo.Policy.observe` takes: their ``round``, ``y``, ``unit``, and ``at`` if the plant lags.

    Parameters
    ----------
    plant : Plant
        The plant.
    rounds : int
        The number of rounds of an episode.
    largest_move : float
        The bound of a move of each actuator, in the unit of a position.

    Examples
    --------
    >>> environment = PlantEnvironment(Quadratic([[2.0]], wear=1.0), rounds=5)
    >>> seen, _ = environment.reset(seed=0)
    >>> environment.step(seen["v"] - seen["x"])[1]                           # nothing to do: the run begins at v
    -0.0
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # the name and the type are Gymnasium's

    def __init__(self, plant: Plant, *, rounds: int = 1000, largest_move: float = 30.0) -> None:
        instance("plant", plant, Plant)
        self.plant = plant
        self.rounds = integer("rounds", rounds, least=1)
        bound = number("largest_move", largest_move, above=0.0)
        d = plant.dim
        box = gymnasium.spaces.Box
        self.action_space = box(-bound, bound, (d,), np.float64)
        self.observation_space = gymnasium.spaces.Dict(  # type: ignore[assignment]  # a Dict of boxes
            {
                "x": box(-np.inf, np.inf, (d,), np.float64),
                "v": box(-np.inf, np.inf, (d,), np.float64),
                "factor": box(0.0, np.inf, (1,), np.float64),
                "active": box(0.0, 1.0, (d,), np.float64),
                "reading": box(-np.inf, np.inf, (1,), np.float64),
                "age": box(0.0, np.inf, (1,), np.float64),
            }
        )
        self._conditions: Conditions | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode at its first v.

        Parameters
        ----------
        seed : int, optional
            The seed of the weather or the load and of the noise.
        options : dict, optional
            Not used.

        Returns
        -------
        observation : dict
            What the agent sees.
        info : dict
            The switching weight of the plant, and by how many rounds a reading may be late.
        """
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31))
        self._conditions = self.plant.draw(self.rounds, [drawn])
        self._round = 0
        self._x = self._felt = self._conditions.best[0]
        self._sent: list[tuple[int, dict[str, Any]]] = []
        self._latest: tuple[int, float] | None = None
        return self._observe(), {
            "switching_weight": self.plant.switching_weight,
            "max_delay": self.plant.max_delay,
        }

    def step(self, action: Array) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move the actuators, and pay for the round.

        Parameters
        ----------
        action : Array, shape (d,)
            The moves.

        Returns
        -------
        observation : dict
            What the agent sees of the next round.
        reward : float
            Minus the cost of this round, in kW.
        terminated, truncated : bool
            False, and whether this was the last round.
        info : dict
            The costs ``lost`` and ``wear``, the ``reading``, which is NaN if there is none so far, and the ``readings``
            that have just arrived.
        """
        if self._conditions is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        now = self._conditions[self._round]
        move = np.clip(np.asarray(action, dtype=np.float64), self.action_space.low, self.action_space.high)  # type: ignore[attr-defined]  # a Box
        x = self.plant.move(now, self._x, self._x + move)
        keep = np.exp(-1.0 / self.plant.lag) if self.plant.lag else 0.0
        self._felt = x + keep * (self._felt - x)
        lost = self.plant.lost(now, self._felt)
        wear = self.plant.switching_cost(self._x, x)
        self._x, self._round = x, self._round + 1
        arrived = self._exchange(now, float(self.plant.read(now, lost)[0]))
        own = [one["y"] for one in arrived if one["round"] == self._round]
        info = {
            "lost": float(lost[0]),
            "wear": float(wear[0]),
            "reading": own[0] if own else np.nan,
            "readings": arrived,
        }
        return self._observe(), -float(lost[0] + wear[0]), False, self._round == self.rounds, info

    def _exchange(self, now: Conditions, y: float) -> list[dict[str, Any]]:
        """Send the reading of the round that ended, and return those that arrive now, oldest first."""
        one: dict[str, Any] = {"round": self._round, "y": y, "unit": 1.0 if now.unit is None else float(now.unit[0])}
        if self.plant.lag:
            felt = self._felt if now.active is None else np.where(now.active, self._felt, self._x)
            one["at"] = felt[0].copy()
        delay = 0 if now.delay is None else int(now.delay[0])
        if not np.isnan(y):
            self._sent.append((self._round + delay, one))
        arrived = [reading for due, reading in self._sent if due == self._round]
        self._sent = [pair for pair in self._sent if pair[0] > self._round]
        for reading in arrived:
            if self._latest is None or reading["round"] > self._latest[0]:
                self._latest = reading["round"], reading["y"]
        return arrived

    def _observe(self) -> Observation:
        """Return what the agent sees of the round that begins; after the last round, of the last one."""
        assert self._conditions is not None
        now = self._conditions[min(self._round, self.rounds - 1)]
        v, period = now.told[0], self.plant.period
        if period is not None:
            v = v + period * np.round((self._x[0] - v) / period)
        factor = 1.0 if now.factor is None else float(now.factor[0])
        active = np.ones(self.plant.dim) if now.active is None else now.active[0].astype(np.float64)
        number, reading = (self._round, 0.0) if self._latest is None else self._latest
        return {
            "x": self._x[0].copy(),
            "v": v.copy(),
            "factor": np.array([factor]),
            "active": active,
            "reading": np.array([reading]),
            "age": np.array([float(self._round - number)]),
        }


def make_quadratic(*, rounds: int = 1000, dim: int = 4, seed: int = 0, **options: Any) -> PlantEnvironment:
    """Return the environment of a quadratic plant with a random A.

    Parameters
    ----------
    rounds, dim, seed : int
        The number of rounds, the dimension, and the seed of A.
    **options
        Further arguments of :class:`soqo.plants.Quadratic`.

    Returns
    -------
    PlantEnvironment
        The environment.

    Examples
    --------
    >>> make_quadratic(dim=3, wear=2.0).plant.dim
    3
    """
    A = random_curvature(dim=dim, rank=dim, min_eigenvalue=0.1, max_eigenvalue=2.0, spacing="linear", rng=seed)
    plant = Quadratic(A, **options)
    return PlantEnvironment(plant, rounds=rounds, largest_move=10.0 * plant.step)


def make_wind_farm(*, rounds: int = 1000, **options: Any) -> PlantEnvironment:
    """Return the environment of a wind farm.

    Parameters
    ----------
    rounds : int
        The number of rounds.
    **options
        The arguments of :class:`soqo.plants.WindFarm`.

    Returns
    -------
    PlantEnvironment
        The environment.

    Examples
    --------
    >>> make_wind_farm(constant_speed=8.0).plant.dim
    9
    """
    return PlantEnvironment(WindFarm(**options), rounds=rounds, largest_move=180.0)


def make_data_center(*, rounds: int = 2016, **options: Any) -> PlantEnvironment:
    """Return the environment of a data center.

    Parameters
    ----------
    rounds : int
        The number of rounds.
    **options
        The arguments of :class:`soqo.plants.DataCenter`.

    Returns
    -------
    PlantEnvironment
        The environment.

    Examples
    --------
    >>> make_data_center(units=4).plant.dim
    4
    """
    return PlantEnvironment(DataCenter(**options), rounds=rounds, largest_move=10.0)


for _name, _maker in (
    ("Quadratic", "make_quadratic"),
    ("WindFarm", "make_wind_farm"),
    ("DataCenter", "make_data_center"),
):
    gymnasium.register(id=f"soqo/{_name}-v0", entry_point=f"{__name__}:{_maker}")
