"""Expected ranks against the methods' computing time per suggestion. An optional part."""

from __future__ import annotations

from statistics import median

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from nasbench.base.errors import StoreError
from nasbench.base.numbers import fixed
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.subject import Subject, rows_of


@PARTS.register("thinking")
@plain()
def part(subject: Subject) -> Part:
    """Expected ranks beside the methods' own time per suggestion.

    Raises StoreError where no run has both a rank and a measured time.
    """
    from moocore import is_nondominated

    comparison, times = subject.comparison, seconds(subject)
    ranks = {subject.curves.methods[rank.method]: rank.these.value for rank in comparison.overall.ranks}
    called = dict(zip(subject.curves.methods, comparison.methods, strict=True))
    names = sorted((name for name in ranks if name in times), key=lambda name: (times[name], ranks[name]))
    if not names:
        raise StoreError("no run here has both a rank and a measured time of thinking")
    places = np.array([(times[name], round(ranks[name], 9)) for name in names])  # equal but for the last digits
    front = is_nondominated(places, keep_weakly=True)
    data = pd.DataFrame(
        {"method": names, "seconds": [times[n] for n in names], "rank": [ranks[n] for n in names], "front": front}
    )
    shown = pd.DataFrame(
        {
            "method": [called[name] for name in names],
            "ms per suggestion": [_shown(1000 * times[name]) for name in names],
            "rank": [fixed(ranks[name]) for name in names],
            "front": ["yes" if on else "" for on in front],
        }
    )
    title = "What thinking buys"
    note = (
        "rank: the expected rank at the end of the budget, over all settings, as in the table of ranks (1 is best). "
        "ms per suggestion: seconds on the wall that a method's own ask and tell took, per evaluation; mean of a run, "
        "median over runs, so that loading a library once does not count. It depends on the machine, and on what else "
        "ran there. front: no other method has both a lower or equal rank and a lower or equal time."
    )
    return Part("thinking", title, [Table("thinking", title, note, data, shown)])


def _shown(ms: float) -> str:
    return f"{ms:.3g}" if ms < 999.5 else f"{ms:,.0f}"


def seconds(subject: Subject) -> dict[str, float]:
    """Method → seconds of its computing time per evaluation: the median over runs of each run's mean."""
    means: dict[str, list[float]] = {}
    for _, fragment in subject.fragments:
        table = rows_of(fragment, ["seed", "thinking", "configuration"], full_only=False)
        if table is None:
            continue
        table = table.filter(pc.is_valid(table["configuration"]))  # without the closing rows of failed runs
        by_run = pd.Series(table["thinking"].to_numpy()).groupby(table["seed"].to_numpy()).mean()
        means.setdefault(fragment.setup.method, []).extend(by_run.dropna())
    return {method: median(values) for method, values in means.items() if values}
