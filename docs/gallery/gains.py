"""The share of the distance to v that the optimal player keeps, by curvature and by rounds to go."""

import matplotlib.pyplot as plt
import numpy as np

import soqo

curvatures = np.logspace(-4, 3, 200)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
for rounds in (1, 10, 100, np.inf):
    left.semilogx(curvatures, soqo.contraction(curvatures, rounds), label=f"{rounds:g} rounds to go")
left.set(xlabel="curvature a", ylabel="contraction", title="Flat: stay. Steep: follow.")
left.legend()
for a in (0.001, 0.01, 0.1, 1.0):
    rounds = np.arange(1, 101)
    right.plot(-rounds, soqo.contraction(a, rounds), label=f"a = {a:g}")
right.set(xlabel="rounds before the end", title="Towards the end, a move pays off less")
right.legend(loc=(0.03, 0.18))
