"""The statistics of a report, each a pure function of the curves or of what another returned.

summaries   one method on one setting: medians, intervals, regret, constraint traces, held-out metrics
pairs       two methods: wins, Wilcoxon, Holm, Bayesian signed-rank, paired over seeds
ranking     many methods: ranks over evaluations and seconds, Friedman, Nemenyi, bootstrap, targets reached
"""
