"""Tables of a report: numbers for files, text for people, from the same statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from results import published, statistics
from results.curves import Curves


@dataclass(frozen=True)
class Table:
    """One table: what it claims, its numbers, and the same as people read it."""

    name: str
    title: str
    note: str
    """How the numbers were computed."""
    data: pd.DataFrame
    """Full precision, for CSV."""
    shown: pd.DataFrame
    """Rounded text, for the terminal, HTML and LaTeX."""

    def csv(self) -> str:
        """Comma-separated, full precision; NaN is empty."""
        return self.data.to_csv(index=False, lineterminator="\n")

    def latex(self) -> str:
        """A `longtable` in booktabs style: compiles as it is under \\usepackage{booktabs,longtable}."""
        columns = self.shown.columns
        styler = self.shown.style.hide(axis="index").format(escape="latex").format_index(escape="latex", axis=1)
        alignment = "".join("l" if column in _TEXT else "r" for column in columns)
        text: str = styler.to_latex(
            hrules=True, column_format=alignment, environment="longtable", caption=_escape(self.title)
        )
        return text

    def html(self) -> str:
        """A `<table>`; text is escaped."""
        return self.shown.to_html(index=False, border=0, escape=True, classes=["numbers"])

    def text(self) -> str:
        """For a terminal: aligned columns, a line of its own above the rows of each setting."""
        columns = [column for column in self.shown.columns if column not in _SETTING]
        rows = [columns, *self.shown[columns].to_numpy().tolist()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            padded = zip(columns, row, widths, strict=True)
            lines.append("  ".join(v.ljust(w) if name in _TEXT else v.rjust(w) for name, v, w in padded).rstrip())
        settings = self.shown[[column for column in _SETTING if column in self.shown]].agg(", ".join, axis=1)
        indent = "  " if len(columns) < len(self.shown.columns) else ""
        text, before = [self.title, "", indent + lines[0], "-" * len(indent + lines[0])], ""
        for line, setting in zip(lines[1:], settings, strict=True):
            if indent and setting != before:
                text.append(setting)
            text.append(indent + line)
            before = setting
        return "\n".join(text)


_SETTING = ("benchmark", "constraint")
_TEXT = frozenset({"method", "benchmark", "constraint", "against", "settings"})


def ranks(curves: Curves, checkpoints: tuple[int, ...]) -> Table:
    """Average rank of each method over settings at the checkpoints."""
    values, settings = statistics.average_ranks(statistics.medians(curves))
    data = pd.DataFrame({"method": curves.methods} | {str(c): values[:, c - 1] for c in checkpoints})
    shown = data.map(lambda value: f"{value:.2f}" if isinstance(value, float) else value)
    families = curves.settings["family"].nunique()
    note = (
        "Methods are ranked in each setting (benchmark × constraint) by the median over seeds of the best feasible "
        f"objective, ties sharing their mean rank, and averaged over {settings} settings where no method is missing. "
        f"The settings come from {families} benchmark famil{'y' if families == 1 else 'ies'}; settings of one family "
        "share their space and much of their data, and are not independent."
    )
    return Table("ranks", "Average rank after so many evaluations (1 is best)", note, data, shown)


def comparison(curves: Curves, baseline: int, checkpoints: tuple[int, ...]) -> Table:
    """Wins, losses, ties and Wilcoxon's test of the baseline against every other method."""
    found = statistics.compare(curves, baseline, checkpoints)
    data = found.assign(method=[curves.methods[m] for m in found["method"]]).rename(columns={"method": "against"})
    shown = pd.DataFrame(
        {
            "against": data["against"],
            "evals": data["evaluations"].astype(str),
            "pairs": data["pairs"].astype(str),
            "w/l/t": [f"{r.wins}/{r.losses}/{r.ties}" for r in data.itertuples()],
            "p": data["p"].map(_p),
            "p (Holm)": data["p_holm"].map(_p),
            "floor": data["floor"].map(_p),
        }
    )
    note = (
        "A setting is won where the baseline's median over seeds is lower, beyond a relative difference of 1e-9. "
        "p: Wilcoxon signed-rank test over settings, two-sided, on (other - baseline) / max(|other|, |baseline|) of "
        "the medians, zeros dropped. Holm's correction runs over the other methods at each checkpoint. floor: the "
        "smallest p that so many non-zero pairs can reach. Settings of one family are not independent: read p as "
        "descriptive where few families stand behind it."
    )
    title = f"Baseline {curves.methods[baseline]}: wins / losses / ties over settings"
    return Table("comparison", title, note, data, shown)


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
        note = (
            f"{paper['source']}. {paper['note']} Reproduced: ours, {curves.protocol} a run, on the settings here that "
            "the row is about, counted the same way."
        )
        tables.append(Table("published", f"Published beside reproduced: {paper['baseline']}", note, data, shown))
    return tables


def performance(curves: Curves, checkpoints: tuple[int, ...]) -> Table:
    """Best feasible objective of every method on every setting."""
    data = _named(curves, statistics.performance(curves, checkpoints))
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "evals": data["evaluations"].astype(str),
            "median": data["median"].map(_number),
            "quartiles": [f"{_number(q1)}-{_number(q3)}" for q1, q3 in zip(data["q1"], data["q3"], strict=True)],
            "mean": data["mean"].map(_number),
            "regret %": data["regret"].map(lambda value: "-" if math.isnan(value) else f"{value:.3g}"),
            "found %": data["found"].map(lambda value: f"{100 * value:.0f}"),
        }
    )
    note = (
        "Best feasible objective so far, over seeds. Before its first feasible evaluation a run counts with the worst "
        "feasible value of the setting; found says how many runs have a feasible one. A run that ended earlier keeps "
        "its last value. regret: of the median, relative to the best feasible (configuration, repetition) of the "
        "table; - where that is unknown or 0."
    )
    return Table("performance", "Best feasible objective", note, data, shown)


def feasibility(curves: Curves) -> Table:
    """How each method treats the constraints."""
    data = _named(curves, statistics.feasibility(curves))
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "runs": data["runs"].astype(str),
            "feasible %": (100 * data["feasible_share"]).map("{:.1f}".format),
            "first": data["first_feasible"].map(lambda value: f"{value:.0f}" if math.isfinite(value) else "never"),
            "never": data["never"].astype(str),
            "failed": (data["failed_evaluations"] + data["failed_runs"]).astype(str),
        }
    )
    note = (
        "feasible %: feasible evaluations over all evaluations. first: upper median over seeds of the number of "
        "evaluations to the first feasible one. never: runs without any. failed: evaluations and runs that failed."
    )
    return Table("feasibility", "Feasible proposals", note, data, shown)


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


def _number(value: float) -> str:
    return f"{value:.4g}"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"


def _escape(text: str) -> str:
    return text.replace("%", r"\%").replace("_", r"\_").replace("&", r"\&").replace("#", r"\#")
