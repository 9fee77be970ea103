"""The room: shares of air and heat."""

from __future__ import annotations

import numpy as np

from soqo.plants import DataCenter


def test_air_and_heat_are_shares() -> None:
    room = DataCenter(units=5).room
    np.testing.assert_allclose(room.air.sum(axis=1), 1.0)
    np.testing.assert_allclose(room.heat.sum(axis=0), 1.0)  # all heat is removed
    assert room.recirculation.min() >= 0.0
    assert room.air.shape == (36, 5)


def test_inlets_are_as_warm_as_the_supply_without_load_and_warmer_with_load() -> None:
    room = DataCenter().room
    x = np.full(6, 18.0)
    np.testing.assert_allclose(room.inlet(x, np.zeros(36)), 18.0)
    rise = room.inlet(x, np.ones(36)) - 18.0
    assert rise.min() > 0.0
    np.testing.assert_allclose(rise.mean(), 1.0)


def test_a_unit_cools_the_racks_near_it_most() -> None:
    room = DataCenter().room
    nearest = np.linalg.norm(room.racks[:, None] - room.units[None], axis=2).argmin(axis=1)
    assert (room.air.argmax(axis=1) == nearest).all()
