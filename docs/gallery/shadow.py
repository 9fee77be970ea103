"""What other policies would have saved on a recorded log, with intervals of 95 %."""

import matplotlib.pyplot as plt

import soqo
from soqo.plants import Interpolation

log = soqo.Log.read("examples/plant_log.csv")
policies = {
    "follow v": soqo.FTM(),
    "GLIDE": soqo.GLIDE(),
    "a third of the way": Interpolation(1 / 3),
    "RLS": soqo.RLS(),
}
found = {name: soqo.replay(policy, log) for name, policy in policies.items()}

figure, axes = plt.subplots(figsize=(7, 2.8))
for place, replay in enumerate(found.values()):
    low, high = replay.interval
    axes.errorbar(replay.saving, place, xerr=[[replay.saving - low], [high - replay.saving]], fmt="o", capsize=4)
axes.axvline(0.0, linestyle=":", color="gray")
axes.set(yticks=range(len(found)), yticklabels=list(found), xlabel="saving in two days")
axes.set_title("Half of the way to v, replaced by another policy")
