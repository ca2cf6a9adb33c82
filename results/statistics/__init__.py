"""The statistics of a report.

nesting      settings in benchmarks, in families, in search spaces; their weights
improvement  probability that a run of one method is better than a run of another, and its value per seed
estimates    t intervals over seeds (these benchmarks) and over spaces (new tasks); Holm's correction
moderation   variances over spaces, estimated jointly from all pairs
ranks        expected ranks of methods
verdicts     all pairs and expected ranks of one scope, with corrected p-values
comparison   the one analysis of a report: averages, constraints, families, points of time
saving       the number of evaluations after which one method is as good as another
fronts       the distance of the fronts that runs have found from the exact one
summaries    one method on one setting: medians, intervals, regret, constraint traces, held-out metrics
targets      share of log-spaced targets reached, areas, performance profiles, interquartile means by jackknife
wilcoxon     Wilcoxon's signed-rank test of every pair, Friedman's and Nemenyi's tests
classical    a baseline against each method over the budget by Wilcoxon's test; the Bayesian signed-rank test
"""
