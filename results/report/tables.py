"""The tables of a report, from its statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from nasbench.results.curves import Array, Curves
from nasbench.results.parts import published
from nasbench.results.report.table import Table
from nasbench.results.statistics import pairs, ranking, summaries

_LEVEL, _STRICT = 0.05, 0.01
_SHARES = (0.25, 0.5, 0.75, 1.0)


def ranks(curves: Curves, checkpoints: tuple[int, ...]) -> Table:
    """Average rank of each method over settings at the checkpoints, with a bootstrap interval at the last."""
    values, settings = ranking.average_ranks(summaries.medians(curves))
    resampled = ranking.bootstrap_ranks(curves, checkpoints[-1])
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    first = (resampled == resampled.min(axis=1, keepdims=True)).mean(axis=0)
    last = checkpoints[-1]
    data = pd.DataFrame({"method": curves.methods} | {str(c): values[:, c - 1] for c in checkpoints})
    numbers = data.columns[1:]
    shown = data.map(lambda value: f"{value:.2f}" if isinstance(value, float) else value)
    shown["95 % at " + str(last)] = [f"{a:.2f}-{b:.2f}" for a, b in zip(low, high, strict=True)]
    shown["best %"] = [f"{100 * share:.0f}" for share in first]
    data["low"], data["high"], data["best"] = low, high, first
    bold = np.zeros(shown.shape, bool)
    bold[:, 1 : 1 + len(numbers)] = _lowest(data[numbers].to_numpy(float).T).T
    note = (
        "Methods are ranked in each setting (benchmark × constraint) by the median over seeds of the best feasible "
        f"objective, ties sharing their mean rank, and averaged over {settings} settings where no method is missing. "
        f"{_families(curves)} The interval and the share of resamples in which a method ranks first are of a "
        "hierarchical bootstrap: families, their benchmarks, and the seeds are drawn with replacement."
    )
    title = "Average rank after so many evaluations (1 is best)"
    return Table("ranks", title, note, data, shown, bold)


def ranks_over_seconds(curves: Curves) -> Table:
    """Average rank of each method at shares of the time horizon."""
    values, settings = ranking.average_ranks(summaries.medians_over_seconds(curves, np.array(_SHARES)))
    columns = {f"{100 * share:.0f} %": values[:, i] for i, share in enumerate(_SHARES)}
    data = pd.DataFrame({"method": curves.methods} | columns)
    shown = data.map(lambda value: f"{value:.2f}" if isinstance(value, float) else value)
    bold = np.zeros(shown.shape, bool)
    bold[:, 1:] = _lowest(values.T).T
    note = (
        "As the average rank over evaluations, but at equal time on the run's clock. The horizon of a setting is the "
        "shortest, over methods, of the median duration of a run (those that stopped early aside): until then most "
        "runs of every method are still searching. "
        f"{settings} settings."
    )
    return Table("ranks-seconds", "Average rank at shares of the time horizon", note, data, shown, bold)


def comparison(curves: Curves, baseline: int, checkpoints: tuple[int, ...]) -> list[Table]:
    """The baseline against every other method: Wilcoxon's test, then by family and beyond repetition noise."""
    found = pairs.compare(curves, baseline, checkpoints)
    data = found.assign(method=[curves.methods[m] for m in found["method"]]).rename(columns={"method": "against"})
    shown = pd.DataFrame(
        {
            "against": data["against"],
            "evals": data["evaluations"].astype(str),
            "pairs": data["pairs"].astype(str),
            "w/l/t": [f"{r.wins}/{r.losses}/{r.ties}" for r in data.itertuples()],
            "p": data["p"].map(_p),
            "p (Holm)": [_p(p) + ("*" if p < _LEVEL else "") for p in data["p_holm"]],
            "p better": [_p(p) + ("*" if p < _STRICT else "") for p in data["p_greater_holm"]],
            "floor": data["floor"].map(_p),
        }
    )
    bold = np.zeros(shown.shape, bool)
    bold[:, 5] = data["p_holm"] < _LEVEL
    bold[:, 6] = data["p_greater_holm"] < _STRICT
    note = (
        "A setting is won where the baseline's median over seeds is lower, beyond a relative difference of 1e-9. "
        "p: Wilcoxon signed-rank test over settings, two-sided, on (other - baseline) / max(|other|, |baseline|) of "
        "the medians, zeros dropped. p better: the same one-sided, that the baseline is better. Holm's correction runs "
        "over the other methods at each checkpoint. floor: the smallest p that so many non-zero pairs can reach, "
        f"before Holm's correction. {_families(curves)}"
    )
    name = curves.methods[baseline]
    marks = f"* p (Holm) < {_LEVEL}; p better (one-sided, Holm) < {_STRICT}."
    if (data["floor"] * (len(curves.methods) - 1) > _LEVEL).any():
        marks += f" Some rows have too few pairs for p (Holm) < {_LEVEL}, see floor."
    plain = Table("comparison", f"Baseline {name}: wins / losses / ties over settings", note, data, shown, bold, marks)
    last = data[data["evaluations"] == checkpoints[-1]].reset_index(drop=True)
    return [plain, _practical(last, name)]


def _practical(data: pd.DataFrame, baseline: str) -> Table:
    shown = pd.DataFrame(
        {
            "against": data["against"],
            "families": data["families"].astype(str),
            "p": data["p_family"].map(_p),
            "floor": data["floor_family"].map(_p),
            "of settings": data["noisy"].astype(str),
            "P(better)": data["better"].map(_share),
            "P(equal)": data["equivalent"].map(_share),
            "P(worse)": data["worse"].map(_share),
        }
    )
    bold = np.zeros(shown.shape, bool)
    bold[:, 5:] = data[["better", "equivalent", "worse"]].to_numpy(float) > 1 - _LEVEL
    note = (
        "Left: Wilcoxon's test with one difference a family (the median of its settings'), for settings of one family "
        "are not independent; with few families no small p is possible (floor). Right: the Bayesian signed-rank test: "
        "the probability that the baseline is better, equivalent or worse by more than what retraining one good "
        "configuration changes (one standard deviation of the table's repetitions), over the settings whose "
        "repetition noise is known; - for fewer than 5, where the prior would speak."
    )
    title = f"Baseline {baseline}: by family, and beyond repetition noise, at {data['evaluations'].iloc[0]} evaluations"
    return Table("practical", title, note, data, shown, bold, "Bold: a probability above 0.95.")


def posthoc(curves: Curves, checkpoint: int) -> Table:
    """Every pair of methods by Nemenyi's and Wilcoxon's test."""
    found = ranking.omnibus(summaries.medians(curves)[:, :, checkpoint - 1])
    rows = [
        (a, b, found.ranks[i], found.ranks[j], found.nemenyi[i, j], found.wilcoxon[i, j])
        for i, a in enumerate(curves.methods)
        for j, b in enumerate(curves.methods)
        if i < j
    ]
    data = pd.DataFrame(rows, columns=["method", "other", "rank", "rank_other", "p_nemenyi", "p_wilcoxon_holm"])
    shown = pd.DataFrame(
        {
            "method": data["method"],
            "other": data["other"],
            "rank": data["rank"].map("{:.2f}".format),
            "rank other": data["rank_other"].map("{:.2f}".format),
            "p Nemenyi": data["p_nemenyi"].map(_p),
            "p Wilcoxon (Holm)": data["p_wilcoxon_holm"].map(_p),
        }
    )
    bold = np.zeros(shown.shape, bool)
    bold[:, 4:] = data[["p_nemenyi", "p_wilcoxon_holm"]] < _LEVEL
    note = (
        f"Friedman's test that all methods are alike: p = {_p(found.p)} over {found.settings} settings at {checkpoint} "
        f"evaluations. Nemenyi's critical difference of average ranks at the 5 % level: "
        f"{found.critical_difference:.2f}. Wilcoxon's p is two-sided, after Holm's correction over all pairs. In the "
        "diagrams a bar joins methods of which no two differ at the 5 % level. "
        f"{_families(curves)}"
    )
    return Table("posthoc", "Every pair of methods", note, data, shown, bold, f"Bold: p < {_LEVEL}.")


def targets(curves: Curves, checkpoints: tuple[int, ...]) -> list[Table]:
    """Share of targets reached at the checkpoints; nothing where no setting has an oracle."""
    reached = ranking.targets_reached(summaries.normalised_regret(curves), curves)
    if np.isnan(reached).all():
        return []
    data = pd.DataFrame({"method": curves.methods} | {str(c): reached[:, c - 1] for c in checkpoints})
    shown = data.map(lambda value: _share(value) if isinstance(value, float) else value)
    bold = np.zeros(shown.shape, bool)
    bold[:, 1:] = _lowest(-reached[:, np.array(checkpoints) - 1].T).T
    low, high = ranking.TARGETS[[0, -1]]
    note = (
        f"{len(ranking.TARGETS)} targets a setting: normalised regrets from {high:g} (the median of everything "
        f"feasible) to {low:g}, evenly spaced in the logarithm (0 is the oracle). The share of (run, target) pairs "
        "reached after so many evaluations, averaged over settings without a missing method; before its first feasible "
        "evaluation a run has reached none."
    )
    return [Table("targets", "Share of targets reached", note, data, shown, bold)]


def beside_published(curves: Curves, baseline: int) -> list[Table]:
    """Wins, losses and ties that a paper prints, and ours for the same method and settings: a table a paper."""
    tables = []
    for paper, data in published.beside(curves, baseline):
        ours = [f"{r['wins']}/{r['losses']}/{r['ties']}" if r["pairs"] else "no runs" for r in data.to_dict("records")]
        shown = pd.DataFrame(
            {
                "method": data["method"],
                "table": data["table"].astype(str),
                "settings": data["settings"],
                "evals": data["evaluations"].astype(str),
                "published": data["published"],
                "of": data["published_pairs"].astype(str),
                "reproduced": ours,
                "pairs": data["pairs"].astype(str),
            }
        )
        note = f"{paper['source']}. {paper['note']} {published.differences(curves, paper)}"
        tables.append(Table("published", f"Published beside reproduced: {paper['baseline']}", note, data, shown))
    return tables


def published_scores(curves: Curves) -> list[Table]:
    """Scores that a paper prints, and ours of the same method on data of the same name: a table a paper."""
    made = []
    for paper, data in published.scores(curves):
        shown = pd.DataFrame(
            {
                "benchmark": data["benchmark"],
                "method": data["method"],
                "published as": data["published_method"] + ", " + data["published_as"],
                "published": [f"{m:g} ± {s:g}" for m, s in data[["published", "published_std"]].to_numpy()],
                "ours": data["ours"].map(number),
            }
        )
        note = (
            f"{paper['source']}. {paper['note']} Ours: the objective after {curves.evaluations} evaluations, median "
            "over seeds."
        )
        made.append(Table("published-scores", "Published scores beside ours", note, data, shown))
    return made


def medians(curves: Curves, baseline: int, checkpoint: int) -> Table:
    """The median of every method on every setting at one checkpoint, a row a setting."""
    data = pd.DataFrame(
        summaries.medians(curves)[:, :, checkpoint - 1], columns=pd.Index(map(_column, curves.methods)), dtype=float
    )
    significant = np.zeros(data.shape, bool)
    against = pairs.within(curves, baseline, checkpoint)
    if len(against):
        sure = against[against["p_holm"] < _LEVEL]
        significant[sure["setting"], sure["method"]] = True
    settings = curves.settings
    shown = pd.DataFrame(
        {
            "benchmark": settings["bench"],
            "objective": settings["objective"] + settings["unit"].map(lambda unit: f" [{unit}]" if unit else ""),
            "constraint": settings["constraint"],
        }
        | {
            _column(name): [
                number(v) + ("*" if s else "") for v, s in zip(data[_column(name)], significant[:, i], strict=True)
            ]
            for i, name in enumerate(curves.methods)
        }
        | {"oracle": settings["oracle"].map(number)}
    )
    bold = np.zeros(shown.shape, bool)
    bold[:, 3:-1] = _lowest(data.to_numpy(float))
    data.insert(0, "constraint", settings["constraint"])
    data.insert(0, "objective", settings["objective"])
    data.insert(0, "bench", settings["bench"])
    note = (
        f"Median over seeds of the best feasible objective after {checkpoint} evaluations; before its first feasible "
        "evaluation a run counts with the worst feasible value of the setting. The objective's name says on which "
        "split and at which epoch it was measured. oracle: the best feasible (configuration, repetition) of the table."
    )
    marks = (
        f"Bold: the lowest. * differs from {curves.methods[baseline]} (Wilcoxon signed-rank, paired over seeds, "
        f"p < {_LEVEL} after Holm's correction over the methods of the setting)."
    )
    return Table("medians", f"Medians after {checkpoint} evaluations", note, data, shown, bold, marks)


def within(curves: Curves, baseline: int, checkpoint: int) -> Table:
    """The baseline against every other method inside each setting."""
    found = pairs.within(curves, baseline, checkpoint)
    data = _named(curves, found).rename(columns={"method": "against"})
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "against": data["against"],
            "pairs": data["pairs"].astype(str),
            "w/l/t": [f"{r.wins}/{r.losses}/{r.ties}" for r in data.itertuples()],
            "p": data["p"].map(_p),
            "p (Holm)": data["p_holm"].map(_p),
            "floor": data["floor"].map(_p),
        }
    )
    note = (
        "Inside each setting: Wilcoxon signed-rank test paired over the seeds that both methods have, two-sided; "
        "Holm's correction runs over the other methods of the setting."
    )
    title = f"Baseline {curves.methods[baseline]}: wins / losses / ties over seeds after {checkpoint} evaluations"
    return Table("within", title, note, data, shown)


def performance(curves: Curves, checkpoints: tuple[int, ...]) -> Table:
    """Best feasible objective of every method on every setting, and its regret."""
    data = _named(curves, summaries.performance(curves, checkpoints))
    # Where there is no table, what stands in for nothing found is what another method saw: no result of this one's.
    nothing = (data["found"] == 0) & data["normalised_regret"].isna()
    low, high = data["low"].map(number), data["high"].map(number)
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "evals": data["evaluations"].astype(str),
            "median": data["median"].map(number).mask(nothing, "-"),
            "95 %": (low + "-" + high).mask(nothing, "-"),
            "n. regret": data["normalised_regret"].map(lambda value: number(value, 3)),
            "area": data["area"].map(lambda value: number(value, 3)),
            "found %": data["found"].map(lambda value: f"{100 * value:.0f}"),
        }
    )
    note = (
        "Best feasible objective so far, over seeds: median with its 95 % bootstrap interval. Before its first "
        "feasible evaluation a run counts with the worst feasible value of the setting (of the table, or where there "
        "is none, of all runs; a method that found nothing there has no median); found says how many runs have a "
        "feasible one. A run that ended earlier keeps its last value. n. regret: of the median, 0 at the oracle (the "
        "best feasible configuration and repetition of the table), 1 at the median of everything feasible; area: the "
        "mean of the regret over all evaluations so far, median over seeds; - where the oracle is unknown. The CSV has "
        "quartiles and the mean, and the regret in the objective's unit and in % of the oracle."
    )
    return Table("performance", "Best feasible objective", note, data, shown)


def feasibility(curves: Curves) -> Table:
    """How each method treats the constraints."""
    data = _named(curves, summaries.feasibility(curves))
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "runs": data["runs"].astype(str),
            "feasible %": (100 * data["feasible_share"]).map("{:.1f}".format),
            "first": data["first_feasible"].map(lambda value: f"{value:.0f}" if math.isfinite(value) else "never"),
            "after [s]": data["first_seconds"].map(lambda value: f"{value:.4g}" if math.isfinite(value) else "never"),
            "never": data["never"].astype(str),
            "failed": (data["failed_evaluations"] + data["failed_runs"]).astype(str),
        }
    )
    note = (
        "feasible %: feasible evaluations over all evaluations. first: upper median over seeds of the number of "
        "evaluations to the first feasible one; after: the same in seconds on the run's clock. never: runs without "
        "any. failed: evaluations and runs that failed."
    )
    return Table("feasibility", "Feasible proposals", note, data, shown)


def held_out(curves: Curves) -> list[Table]:
    """Test metrics of the incumbents, where a benchmark has any."""
    found = summaries.held_out(curves)
    if not len(found):
        return []
    data = _named(curves, found)
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "metric": data["metric"],
            "runs": data["runs"].astype(str),
            "median": data["median"].map(number),
            "quartiles": [f"{number(a)}-{number(b)}" for a, b in zip(data["q1"], data["q3"], strict=True)],
            "mean": data["mean"].map(number),
        }
    )
    note = (
        "Measured on a test split at each run's last incumbent, which the objective (on its own split) chose: no "
        "method sees these numbers, and none can be constrained or minimised. Runs without a feasible incumbent are "
        "left out."
    )
    return [Table("held-out", "Test metrics of the incumbents", note, data, shown)]


def references(parts: Sequence[Curves]) -> list[Table]:
    """Single networks for orientation, where the stores have any."""
    rows = []
    for curves in parts:
        for (setting, _), runs in curves.groups.items():
            known = curves.settings.iloc[setting]
            values = [(known["objective"], curves.incumbent[runs, -1])]
            tested = pd.DataFrame([facts for facts in curves.runs["held_out"].iloc[runs] if facts])
            values += [(metric, tested[metric].to_numpy(float)) for metric in tested.columns]
            for metric, found in values:
                kept = found[np.isfinite(found)]
                if len(kept):
                    rows.append((known["bench"], metric, len(kept), np.median(kept), kept.min(), kept.max()))
    if not rows:
        return []
    data = pd.DataFrame(rows, columns=["benchmark", "metric", "runs", "median", "smallest", "largest"])
    shown = data.astype({"runs": str})
    for column in ("median", "smallest", "largest"):
        shown[column] = data[column].map(number)
    note = (
        "Single networks, for orientation: nothing is searched, so they take no part in ranks and tests. Each run is "
        "one training; the epoch is chosen on the validation split."
    )
    return [Table("references", "Reference networks", note, data, shown)]


def _column(method: str) -> str:
    """A column's name for a method: not that of another column."""
    taken = ("benchmark", "objective", "constraint", "oracle", "bench")
    return f"{method} (method)" if method in taken else method


def _families(curves: Curves) -> str:
    n = curves.families
    if n == 1:
        return "All settings come from one benchmark family: they share their space and data and are not independent."
    return (
        f"The settings come from {n} benchmark families; settings of one family share their space and much of their "
        "data, and are not independent."
    )


def _lowest(values: Array) -> np.ndarray:
    """Where each row has its lowest value, ties within nine digits included."""
    known = ranking.rounded(np.where(np.isnan(values), np.inf, values))
    lowest: np.ndarray = (known == known.min(axis=1, keepdims=True)) & ~np.isnan(values)
    return lowest


def _named(curves: Curves, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the names of benchmark, constraint, method, objective and unit in place of numbers."""
    settings = curves.settings.iloc[frame["setting"]].reset_index(drop=True)
    methods = [curves.methods[m] for m in frame["method"]]
    named = frame.drop(columns=["setting", "method"])
    for name, values in (("method", methods), ("unit", settings["unit"]), ("objective", settings["objective"])):
        named.insert(0, name, values)
    for name in ("constraint", "bench"):
        named.insert(0, name, settings[name])
    return named


def number(value: float, digits: int = 4) -> str:
    """A number for people, `-` where it is not known."""
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"
