"""What choix takes for Bradley-Terry of as many games as BenchmarkRank has (package leaderboard), with and without
resamples of items: python bench_choix.py [GAMES [RESAMPLES]]      (choix 0.4, numpy)
"""
import sys
import time

import choix
import numpy as np

games, resamples = (int(x) for x in (sys.argv[1:] + ["1000000", "20"][len(sys.argv) - 1:]))
rng = np.random.default_rng(1)
systems = 10
pairs = [(a, b) for a in range(systems) for b in range(a)]
a, b = np.array([pairs[n % 45] for n in range(games)]).T
item = np.arange(games) // 45
tie = rng.random(games) < .2
won = rng.random(games) < 1 / (1 + np.exp(-.1 * (a - b)))


def dense(weight):
    wins = np.zeros((systems, systems))
    w = weight[item]
    np.add.at(wins, (a, b), w * np.where(tie, .5, won))
    np.add.at(wins, (b, a), w * np.where(tie, .5, ~won))
    return wins


start = time.time()
params = choix.ilsr_pairwise_dense(dense(np.ones(item.max() + 1)), alpha=0, tol=1e-9)
print(f"one fit, dense: {time.time() - start:.2f} s", params.round(3))
start = time.time()
for _ in range(resamples):
    drawn = np.bincount(rng.integers(item.max() + 1, size=item.max() + 1), minlength=item.max() + 1)
    choix.ilsr_pairwise_dense(dense(drawn), alpha=0, tol=1e-9)
print(f"{resamples} resamples of items, dense: {time.time() - start:.2f} s")
data = [(x, y) if w else (y, x) for x, y, w, t in zip(a.tolist(), b.tolist(), won.tolist(), tie.tolist()) if not t]
start = time.time()
choix.ilsr_pairwise(systems, data, alpha=0, tol=1e-9)
print(f"one fit of a list of {len(data)} games without ties (choix takes none): {time.time() - start:.2f} s")
