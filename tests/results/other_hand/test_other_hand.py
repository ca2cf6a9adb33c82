"""Reports of every kind agree with a recomputation from their Parquet files by numpy and scipy alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import pytest

from tests.results.other_hand import verdicts, wilcoxon
from tests.results.other_hand.kinds import KINDS, Folder, Kind, Table
from tests.results.other_hand.recomputed import LEVELS, Report, clipped
from tests.results.other_hand.stored import Read, read
from tests.results.other_hand.verdicts import Asked, Row

EACH_KIND = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind.store == "many")) for kind in KINDS], ids=str
)


class Made(NamedTuple):
    """A report as it was written and printed, and as it is recomputed."""

    tables: dict[str, Table]
    report: Report
    store: Read
    printed: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Makes a report of a kind."""
    path = tmp_path_factory.mktemp("other-hand")
    folder = Folder(path)
    stores: dict[str, Read] = {}

    @lru_cache
    def make(kind: Kind) -> Made:
        store = stores.setdefault(kind.store, read(folder.store(kind.store)))
        places = [p for p in store.places if re.match(kind.benches, p.bench)]
        benches = sorted({p.bench for p in places}) if kind.benches else []
        return Made(folder.report(kind, benches), Report(store, kind.score, places), store, folder.printed(kind))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NASBENCH_DATA", str(path / "data"))
        yield make


def differs(text: str, value: Any) -> bool:
    """Whether a CSV file says something else: to 1e-9, and a small p to six digits."""
    if isinstance(value, bool | str):
        return text != str(value)
    if text == "" or math.isnan(value):
        return not (text == "" and math.isnan(value))
    allowed = 1e-9 * max(1.0, abs(value)) if value > 1e-6 else 1e-6 * abs(value)
    return abs(float(text) - value) > allowed


def wrong(written: Mapping[str, str], expected: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """The columns in which a written row is not the expected one; all of the expected must be there."""
    return {name: (written[name], value) for name, value in expected.items() if differs(written[name], value)}


def without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


@EACH_KIND
def test_pairs_over_all_settings(made: Any, kind: Kind) -> None:
    tables, report, *_ = made(kind)
    expected = verdicts.all_together(report)
    written = {(row["method"], row["other"]): row for row in tables["pairs"]}
    against = {("random", row["against"]): row for row in tables["comparison"]}
    assert {frozenset(pair) for pair in written} == {frozenset(pair) for pair in expected}
    assert len(against) == sum(a == "random" for a, _ in expected)
    for pair, row in [*written.items(), *against.items()]:
        assert not wrong(row, expected[pair]), pair


@EACH_KIND
def test_pairs_under_single_constraints(made: Any, kind: Kind) -> None:
    tables, report, *_ = made(kind)
    if len({p.constraint for p in report.places}) == 1:
        assert "constraints-pairs" not in tables
        return
    overall, single = verdicts.all_together(report), verdicts.single_constraints(report)
    assert len(tables["constraints-pairs"]) * 2 == len(single)
    for row in [*tables["constraints-pairs"], *tables["constraints"]]:
        pair = row["method"], row["other"]
        expected = overall[pair] if row["constraint"] == "(average)" else single[row["constraint"], pair]
        assert not wrong(row, expected), (row["constraint"], pair)


@EACH_KIND
def test_the_baseline_in_single_settings(made: Any, kind: Kind) -> None:
    tables, report, *_ = made(kind)
    if len(report.places) == 1:
        assert "within" not in tables
        return
    expected = verdicts.single_settings(report, "random")
    assert len(tables["within"]) == len(expected)
    for row in tables["within"]:
        found = expected[f"{row['bench']} {row['constraint']}", ("random", row["against"])]
        interval = {"low": found["low_simultaneous"], "high": found["high_simultaneous"]}
        p = {"p": math.nan if found["identical"] else found["p"]}
        names = ("seeds", "better", "p_holm", "floor")
        assert not wrong(row, {name: found[name] for name in names} | interval | p), row


@EACH_KIND
def test_ranks_and_places(made: Any, kind: Kind) -> None:
    tables, report, *_ = made(kind)
    expected = verdicts.rank_rows(report, verdicts.all_together(report))
    same_as = {row["method"]: row["same_as"] for row in tables["ranks"]}
    assert {method for method in same_as if not same_as[method]} == expected.keys()
    for row in tables["ranks"]:
        end = list(row)[list(row).index("low") - 1]
        rank = expected[row["same_as"] or row["method"]]
        assert not wrong(row, {end: rank["rank"]} | without(rank, "rank")), row["method"]


@EACH_KIND
def test_the_scopes(made: Any, kind: Kind) -> None:
    tables, report, *_ = made(kind)
    single = verdicts.single_constraints(report)
    scopes = {"all together": verdicts.all_together(report)}
    for label in {p.constraint for p in report.places}:
        where = "no constraint" if label == "none" else label
        scopes[where] = {pair: row for (of, pair), row in single.items() if of == label}
    leader = next((row["method"] for row in tables["ranks"] if row["first"] and is_lowest(row, tables["ranks"])), "")
    rows = [row for row in tables.get("scopes", []) if row["kind"] in ("all", "constraint")]
    for row in rows:
        found = scopes[row["where"]][leader, row["against"].split(" = ")[0]]
        ends = {"low": found["low_simultaneous"], "high": found["high_simultaneous"]}
        assert not wrong(row, {name: found[name] for name in ("better", "p_holm", "settings")} | ends), row["where"]
    spaces = {p.space for p in report.places}
    for row in (row for row in tables.get("scopes", []) if row["kind"] == "space"):
        places = tuple(p for p in report.places if p.space == row["where"])
        pair = leader, row["against"].split(" = ")[0]
        found = verdicts.rows(report, [Asked("", pair, places)], 0.05)["", pair]
        assert not wrong(row, {name: found[name] for name in ("better", "low", "high")}), row["where"]
        assert row["where"] in spaces


def is_lowest(row: Mapping[str, str], rows: list[Table]) -> bool:
    """Whether no other method has a lower rank at the end of the budget."""
    end = list(row)[list(row).index("low") - 1]
    return float(row[end]) == min(float(other[end]) for other in rows)


@EACH_KIND
@pytest.mark.parametrize("level", ["spaces", "families"])
def test_spaces_and_families_alone(made: Any, kind: Kind, level: str) -> None:
    tables, report, *_ = made(kind)
    key = dict(LEVELS)[level]
    name = {"spaces": "space", "families": "family"}[level]
    units = {key(p) for p in report.places}
    both = [
        (key(p), m)
        for p in report.places
        for m in report.methods
        if m != "random" and {(p, m), (p, "random")} <= report.read.cells.keys()
    ]
    expected = set(both) if len(units) > 1 else set()
    assert {(row[name], row["against"]) for row in tables.get(level, [])} == expected
    for row in tables.get(level, []):
        places = tuple(p for p in report.places if key(p) == row[name])
        pair = "random", row["against"]
        found = verdicts.rows(report, [Asked("", pair, places)], 0.05)["", pair]
        unknown = [name for name in found if name not in row]
        assert {"better", "low", "high", "settings"} <= found.keys() - set(unknown)
        assert not wrong(row, without(found, *unknown)), row


@EACH_KIND
def test_wilcoxon_tables(made: Any, kind: Kind) -> None:
    tables, report, *_ = made(kind)
    expected = wilcoxon.tables(report)
    for row in tables.get("wilcoxon", []):
        level = expected[row["over"]]
        found = {"blocks": level["blocks"]} | level["pairs"][row["method"], row["other"]]
        assert not wrong(row, found), row
    for row in tables.get("wilcoxon-ranks", []):
        assert not wrong(row, {over: level["ranks"][row["method"]] for over, level in expected.items()}), row
    if len(report.shared(report.methods, report.places)) > 0:
        assert len(tables["wilcoxon"]) == sum(len(level["pairs"]) for level in expected.values())
        assert len(tables["wilcoxon-ranks"]) == len(report.methods)


@EACH_KIND
def test_friedman_as_it_is_printed(made: Any, kind: Kind) -> None:
    _, report, _, printed = made(kind)
    expected = wilcoxon.tables(report)
    said = re.findall(r"over (\d+) (\w+?)s? χ² = ([\d.]+), p (?:= |< )([\d.e-]+)", printed)
    assert len(said) == sum(bool(level["friedman"]) and level["friedman"].statistic > 0 for level in expected.values())
    for count, over, statistic, p in said:
        level = expected[f"{over}s"]
        assert int(count) == level["blocks"]
        assert level["friedman"].statistic == pytest.approx(float(statistic), rel=5e-4)
        assert level["friedman"].pvalue == pytest.approx(float(p), rel=0.1, abs=1e-3)


@EACH_KIND
def test_ranks_in_and_out_of_sample(made: Any, kind: Kind) -> None:
    tables, report, store, _ = made(kind)
    tuned = {space for cell in store.cells.values() for space in cell["tuned_on"]}
    for name, chosen in (("in_sample", True), ("out_of_sample", False)):
        places = [p for p in report.places if (p.space in tuned) == chosen]
        ranks = report.ranks(places) if places else {}
        for row in tables.get("in-sample", []):
            assert (name in row) == bool(places)
            if row["method"] in ranks:
                rank = ranks[row["method"]]
                low, high = clipped(rank.interval(), 1, len(ranks))
                assert not wrong(row, {name: rank.value, f"{name}_low": low, f"{name}_high": high}), row
    assert ("in-sample" in tables) == bool(tuned & {p.space for p in report.places})


@EACH_KIND
def test_scores_side_by_side(made: Any, kind: Kind) -> None:
    tables, report, store, _ = made(kind)
    by_score = {score: Report(store, score, report.places) for score in ("hidden", "mean", "observed")}
    by_score[kind.score] = report
    ranks = {score: other.ranks(other.places) for score, other in by_score.items()}
    for row in tables["score"]:
        method = row["method"]
        if all(method in of for of in ranks.values()):
            assert not wrong(row, {f"rank_{score}": of[method].value for score, of in ranks.items()}), method
    all_pairs = {score: verdicts.all_together(other) for score, other in by_score.items()}

    def told(row: dict[str, Any]) -> tuple[int, int]:
        sign = 1 if row["better"] > 0.5 else -1
        return sign * (row["p_holm"] < 0.05), sign * (row["p_new_holm"] < 0.05)

    changed = {pair for pair in all_pairs["hidden"] if len({told(of[pair]) for of in all_pairs.values()}) > 1}
    written = {(row["method"], row["other"]): row for row in tables.get("score-verdicts", [])}
    assert {frozenset(pair) for pair in written} == {frozenset(pair) for pair in changed}
    for pair, row in written.items():
        for score, of in all_pairs.items():
            assert not wrong(row, {f"{name}_{score}": of[pair][name] for name in ("better", "p_holm")}), pair


@EACH_KIND
def test_claims(made: Any, kind: Kind) -> None:
    tables, report, *_ = made(kind)
    asked = []
    for row in tables.get("claims", []):
        under = "constraint" in row["claim"]
        places = tuple(p for p in report.places if not under or p.constraint != "none")
        asked.append(Asked(row["claim"], (row["better"], row["worse"]), places))
    expected = verdicts.rows(report, asked, 0.01) if asked else {}
    assert len(expected) == len(asked)
    for row in tables.get("claims", []):
        found = expected[row["claim"], (row["better"], row["worse"])]
        interval = {"low": found["low_simultaneous"], "high": found["high_simultaneous"]}
        facts = {name: found[name] for name in ("settings", "seeds", "p", "p_holm")}
        assert not wrong(row, facts | interval | {"probability": found["better"]}), row


def test_the_kinds_have_every_case(made: Any) -> None:
    """Otherwise agreement would say little of the case."""
    rows = [row for kind in KINDS for row in made(kind).tables["pairs"]]
    single = [row for kind in KINDS for row in made(kind).tables.get("within", [])]
    assert {row["new_over"] for row in rows} == {"spaces", "families", "benchmarks", ""}
    for column in ("identical", "equivalent", "equal_on_average"):
        assert {row[column] for row in rows} == {"True", "False"}, column
    p = {name: [float(row[name]) for row in rows if row[name]] for name in ("p_holm", "p_new_holm", "p_equivalent")}
    for name, values in p.items():
        small = 0.15 if name == "p_equivalent" else 0.05
        assert min(values) < small < max(values), (name, min(values), max(values))
    edges = {"0.5"} & {row[end] for row in rows for end in ("low_simultaneous", "high_simultaneous")}
    assert edges, "no interval is cut at one half"
    assert {"0.5"} & {row[end] for row in single for end in ("low", "high")}, "none is stretched to one half"
    assert any(math.isnan(value) for value in made(Kind("infeasible")).report.worth.values())
