"""A setting is a value: it compares by its fields, and its repr is short."""

from __future__ import annotations

from dataclasses import replace

from soqo import POL
from soqo.experiments import catalogue


def test_settings_compare_by_value() -> None:
    one, other = catalogue(), catalogue()
    assert one == other
    assert len({setting.name for setting in one}) == len(set(one))
    setting = one[0]
    assert replace(setting, seed=setting.seed + 1) != setting
    assert replace(setting, policies={**setting.policies, "POL": POL(0.5)}) != setting


def test_the_repr_names_the_setting_and_leaves_out_its_policies() -> None:
    setting = catalogue()[0]
    text = repr(setting)
    assert f"name={setting.name!r}" in text
    assert "policies" not in text
    assert "environment" not in text


def test_every_swept_policy_is_one_of_the_setting() -> None:
    swept = [setting for setting in catalogue() if setting.swept]
    assert swept
    for setting in swept:
        assert set(setting.swept) <= set(setting.policies)
        for name, point in setting.swept.items():
            assert getattr(setting.policies[name], point.parameter) == point.value
            assert name.startswith(point.family)
