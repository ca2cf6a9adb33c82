"""The statistics of a report.

nesting      settings in benchmarks, in families, in search spaces; their weights
improvement  probability that a run of one method is better than one of another, and what each seed says of it
estimates    t intervals over seeds (these benchmarks) and over spaces (new tasks); Holm's correction
moderation   variances over spaces that all pairs estimate together
ranks        expected ranks of methods
verdicts     every pair, expected rank and open place of one scope
comparison   the one analysis that everything in a report reads from: averages, constraints, families, points of time
summaries    one method on one setting: medians, intervals, regret, constraint traces, held-out metrics
targets      share of log-spaced targets reached, areas, performance profiles, interquartile means by jackknife
classical    tests over settings as papers do them: Wilcoxon, Friedman, Nemenyi, Bayesian signed-rank
"""
