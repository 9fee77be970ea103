"""The paper's settings in words."""

from __future__ import annotations

from soqo.experiments import catalogue
from soqo.experiments.settings import describe_setting


def test_every_setting_of_the_paper_has_a_label_of_its_own_with_its_figure() -> None:
    labels = {setting.name: describe_setting(setting.name) for setting in catalogue()}
    assert len(set(labels.values())) == len(labels)
    assert labels["intro"] == "Figure 1"
    assert labels["primary"] == "Figure 3 (correlated, r = d = 4, sigma_r = 0.01)"
    assert labels["cauchy_r1_0.01"] == "Figure 18 (Cauchy, r = 1, sigma_r = 0.01)"
    assert labels["sensitivity_10000"] == "Figure 6 (eta = 10000)"


def test_what_follows_a_comma_is_kept_and_other_names_stay() -> None:
    assert describe_setting("rank_deficient_1, LAI's play") == "Figure 5 (Gaussian, r = 1, sigma_r = 1), LAI's play"
    assert describe_setting("mine") == "mine"
