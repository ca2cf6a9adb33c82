"""What a report's numbers say, in sentences: who is first where, how sure that is, what became of papers' claims."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.results.curves import Array, Curves
from nasbench.results.statistics.pairs import holm, relative_differences, signed_rank
from nasbench.results.statistics.ranking import average_ranks
from nasbench.results.statistics.summaries import medians

_CLAIMS = Path(__file__).parent / "claims.json"
_LEVEL = 0.05


def winners(curves: Curves) -> pd.DataFrame:
    """For each constraint, over benchmarks where no method is missing: who is first at the end, and how sure that is.

    Columns: constraint, settings, method, rank, methods, pairs (over settings and seeds, ties aside: the most that it
    has with another), floor (the smallest corrected p that so many can reach), better (how many others it beats with
    p below 0.05: Wilcoxon over those pairs, Holm over every pair of methods, for the first is known afterwards only).
    """
    last, rows = medians(curves)[:, :, -1], []
    for constraint, every in _by_constraint(curves):
        settings = [i for i in every if not np.isnan(last[i]).any()]
        if not settings:
            continue
        ranks, count = average_ranks(last[settings][:, :, None])
        best = int(np.nanargmin(ranks[:, 0]))
        others = [m for m in range(len(curves.methods)) if m != best]
        duels = [(m, best) for m in others]
        duels += [(m, n) for m in others for n in others if m < n]
        found = [differences(curves, settings, m, n) for m, n in duels]
        p = holm(np.array([signed_rank(d).p for d in found]))
        own = found[: len(others)]
        pairs = max((int((d != 0).sum()) for d in own), default=0)
        rows.append(
            {
                "constraint": constraint,
                "settings": count,
                "method": curves.methods[best],
                "rank": float(ranks[best, 0]),
                "methods": len(curves.methods),
                "pairs": pairs,
                "floor": min(1.0, 2.0 ** (1 - pairs) * len(duels)) if pairs else 1.0,
                "better": sum(q < _LEVEL and _is_better(d) for q, d in zip(p, own, strict=False)),
            }
        )
    return pd.DataFrame(rows)


def claims(curves: Curves) -> pd.DataFrame:
    """What papers say of methods that are here, each held against our runs.

    Columns: paper, claim, better, worse (methods here), pairs (over settings and seeds), wins, losses, ties, p, p_holm
    (over the claim's rivals), here: holds, is contradicted, or cannot be told.
    """
    rows: list[dict[str, Any]] = []
    for claim in json.loads(_CLAIMS.read_text()):
        meant = [
            i
            for i, constraint in enumerate(curves.settings["constraint"])
            if claim["constrained"] in (None, constraint != "none")
        ]
        for ours in _called(curves, claim["better"]):
            found = []
            for theirs in (m for name in claim["worse"] for m in _called(curves, name)):
                own = differences(curves, meant, theirs, ours)
                if len(own):
                    wins, losses = int((own > 0).sum()), int((own < 0).sum())
                    words = {name: claim[name] for name in ("paper", "claim")}
                    names = {"better": curves.methods[ours], "worse": curves.methods[theirs]}
                    counts = {"pairs": len(own), "wins": wins, "losses": losses, "ties": len(own) - wins - losses}
                    found.append({**words, **names, **counts, "p": signed_rank(own).p, "ahead": _is_better(own)})
            corrected = holm(np.array([row["p"] for row in found]))
            for row, p in zip(found, corrected, strict=True):
                ahead = row.pop("ahead")
                here = "cannot be told" if p >= _LEVEL else "holds" if ahead else "is contradicted"
                rows.append({**row, "p_holm": p, "here": here})
    return pd.DataFrame(rows)


def sentences(curves: Curves) -> list[str]:
    """Both in words."""
    found = []
    for row in winners(curves).to_dict("records"):
        others = row["methods"] - 1
        if not others:
            continue
        where = "Without a constraint" if row["constraint"] == "none" else f"Under {row['constraint']}"
        sure = (
            f"told apart from {row['better']} of the {others} others (Wilcoxon over settings and seeds as if they were "
        )
        sure += "independent, Holm over every pair of methods)"
        if row["floor"] >= _LEVEL:
            sure += f"; {row['pairs']} pairs are too few for more certainty"
        found.append(
            f"{where}, after {curves.protocol}: {row['method']} is first with an average rank of {row['rank']:.1f} of "
            f"{row['methods']} over {row['settings']} setting{'s' if row['settings'] > 1 else ''}; {sure}."
        )
    table = claims(curves)
    for (paper, claim, ours), own in groupby(table.to_dict("records"), key=itemgetter("paper", "claim", "better")):
        parts = [f"{r['worse']} {r['wins']}/{r['losses']}/{r['ties']}, {r['here']}" for r in own]
        found.append(f'{paper} says: "{claim}". Here, wins/losses/ties of {ours} against {"; ".join(parts)}.')
    return found


def differences(curves: Curves, settings: list[int], theirs: int, ours: int) -> Array:
    """How much worse they end than we do, relatively, for each setting and seed that both have.

    Before anything feasible is found a run counts with the setting's worst value.
    """
    seeds, last = curves.runs["seed"].to_numpy(), curves.padded[:, -1]
    found = [np.zeros(0)]
    for setting in settings:
        left, right = (curves.groups.get((setting, method)) for method in (theirs, ours))
        if left is not None and right is not None:
            _, i, j = np.intersect1d(seeds[left], seeds[right], return_indices=True)
            found.append(relative_differences(last[left[i]], last[right[j]]))
    return np.concatenate(found)


def _is_better(differences: Array) -> bool:
    """Whether the ranks of what is won outweigh those of what is lost, as the test weighs them."""
    return signed_rank(differences, "greater").p < 0.5


def _called(curves: Curves, name: str) -> list[int]:
    """The methods of a name, whatever their options."""
    return [i for i, method in enumerate(curves.methods) if method.partition(":")[0] == name]


def _by_constraint(curves: Curves) -> list[tuple[str, list[int]]]:
    names = curves.settings["constraint"].tolist()
    return [(name, [i for i, own in enumerate(names) if own == name]) for name in dict.fromkeys(names)]
