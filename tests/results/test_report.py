from __future__ import annotations

import csv
import json
import math
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

from nasbench.results import Store, StoreError
from nasbench.results.display.table import shortened
from nasbench.results.report import report
from nasbench.results.report.request import FORMATS, Request
from tests.results.conftest import FACTS, LITERATURE, Fill, described, make_run, make_setup

QUICK = ("html", "csv", "latex")
"""Without figures in files."""


def compare(store: Store) -> Store:
    for method, shift in (("random", 2.0), ("evolution", 0.0), ("c-tpe:gamma=<b>&_%", 1.0)):
        for constraint in ("none", "size_x@0.1"):
            runs = [make_run(s, [9.0 + s, 8.0 + s, 2.0 + shift + s / 10], [False, True, True]) for s in range(4)]
            store.commit(make_setup(method, constraint=constraint), runs, FACTS)
    return store


@pytest.fixture
def compared(store: Store) -> Store:
    return compare(store)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path]:
    """A store, and its report in every format."""
    folder = tmp_path_factory.mktemp("written")
    store = compare(Store.create(folder / "store"))
    report.write([store], Request(folder / "out", formats=FORMATS))
    return store, folder / "out"


class Page(HTMLParser):
    """Collects what a page would fetch, and its links to anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.anchors: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        self.ids |= {facts["id"]} if facts.get("id") else set()
        self.fetched += [str(facts[key]) for key in ("src", "srcset", "data") if key in facts]
        href = str(facts.get("href") or facts.get("xlink:href") or "")
        if href.startswith("#"):
            self.anchors.append(href[1:])
        elif href and tag != "a":
            self.fetched.append(href)


def test_the_page_is_one_file_without_outside_resources(compared: Store, tmp_path: Path) -> None:
    report.write([compared], Request(tmp_path / "out", formats=QUICK))
    text = (tmp_path / "out" / "index.html").read_text()
    page = Page(text)
    assert page.fetched == ["data:,"]  # an empty icon, or a browser would ask for one
    assert page.anchors
    assert set(page.anchors) <= page.ids
    assert not re.search(r"url\((?!#)|@import|https?:(?!//www.w3.org|//purl.org|//creativecommons.org)", text)
    assert "c-tpe:gamma=&lt;b&gt;&amp;_%" in text
    assert "gamma=<b>" not in text  # nor in the numbers of the script


def test_tables_hold_the_numbers_in_full(compared: Store, tmp_path: Path) -> None:
    report.write([compared], Request(tmp_path / "out", checkpoints=(1, 3), formats=("csv",)))
    with (tmp_path / "out" / "performance.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if r["method"] == "random" and r["constraint"] == "none"]
    assert [float(r["median"]) for r in rows] == [100.0, 4.15]
    assert [float(r["found"]) for r in rows] == [0.0, 1.0]
    assert float(rows[1]["regret"]) == pytest.approx(3.15)
    assert float(rows[1]["regret_percent"]) == pytest.approx(315.0)
    with (tmp_path / "out" / "ranks.csv").open() as file:
        ranks = {r["method"]: float(r["3"]) for r in csv.DictReader(file)}
    assert ranks == {"evolution": 1.0, "c-tpe:gamma=<b>&_%": 2.0, "random": 3.0}


def test_the_same_store_gives_the_same_bytes(compared: Store, tmp_path: Path) -> None:
    for name in ("first", "second"):
        report.write([compared], Request(tmp_path / name))
    names = sorted(p.name for p in (tmp_path / "first").iterdir())
    assert "curves-toy.svg" in names
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


def test_the_baseline_is_asked_for_or_the_suites_or_the_first(compared: Store, tmp_path: Path) -> None:
    def title(**options: object) -> str:
        return report.write([compared], Request(tmp_path / "out", formats=QUICK, **options)).text  # type: ignore[arg-type]

    text = title()
    first = re.search(r"-{20,}\n(\S+) ", text)
    assert first
    assert first[1] != "random"
    assert f"Probability that {first[1]} is better" in text
    compared.save_plan("c", [], {"title": "My suite", "checkpoints": [2, 500], "baseline": "evolution"})
    compared.save_plan("later, by flags", [], {})
    assert "Probability that evolution is better" in title()
    assert "Probability that random is better" in title(baseline="random")
    assert "<h1>My suite</h1>" in (tmp_path / "out" / "index.html").read_text()
    assert (tmp_path / "out" / "ranks.csv").read_text().startswith("method,2,3,low,high,")  # the end is always one
    with pytest.raises(StoreError, match="allowed: c-tpe"):
        title(baseline="nobody")


def test_checkpoints_beyond_the_runs_are_refused(compared: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="beyond the 3 evaluations"):
        report.write([compared], Request(tmp_path / "out", checkpoints=(1, 4)))
    for wrong in ((), (0, 2)):
        with pytest.raises(StoreError, match="checkpoints are numbers from 1"):
            report.write([compared], Request(tmp_path / "out", checkpoints=wrong))


def test_mixed_protocols_must_be_chosen_from(compared: Store, filled: Fill, tmp_path: Path) -> None:
    filled({make_setup("random", workers=4): [make_run(0, [1.0])]})
    with pytest.raises(StoreError, match="choose one of --protocol '3 evaluations on 1 worker'; --protocol"):
        report.write([compared], Request(tmp_path / "out", formats=QUICK))
    chosen = report.write([compared], Request(tmp_path / "out", formats=QUICK, protocol="3 evaluations on 4 workers"))
    assert "1 run of 3 evaluations on 4 workers" in chosen.verdict.compared
    with pytest.raises(StoreError, match="allowed: 3 evaluations on 1 worker"):
        report.write([compared], Request(tmp_path / "out", formats=QUICK, protocol="nonsense"))


def test_two_versions_of_one_setup_are_never_mixed(compared: Store, filled: Fill, tmp_path: Path) -> None:
    filled({make_setup("random", data="sha256:other"): [make_run(0, [1.0])]})
    with pytest.raises(StoreError, match="two versions"):
        report.write([compared], Request(tmp_path / "out"))


def test_one_method_with_one_seed_still_has_a_report(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup("only"): [make_run(0, [3.0])]})
    written = report.write([store], Request(tmp_path / "out", formats=QUICK))
    assert written.verdict.headline == "There is one method: nothing is compared."
    assert (written.verdict.ranks, written.verdict.pairs, written.verdict.scopes) == (None, None, None)
    assert not (tmp_path / "out" / "comparison.csv").exists()


def test_an_empty_store_and_a_report_inside_the_store_are_refused(tmp_path: Path) -> None:
    empty = Store.create(tmp_path / "empty")
    with pytest.raises(StoreError, match="holds no finished run"):
        report.write([empty], Request(tmp_path / "out"))
    with pytest.raises(StoreError, match="inside the store"):
        report.write([empty], Request(tmp_path / "empty" / "report"))
    assert not (tmp_path / "out").exists()


def test_a_torn_benchmark_leaves_the_others_a_report(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup("a", bench=bench): [make_run(0, [3.0] * 50)] for bench in ("one", "two")})
    (path,) = store.folder.glob("a.two*.parquet")
    content = bytearray(path.read_bytes())
    for i in range(4, len(content) - 8 - int.from_bytes(content[-8:-4], "little"), 20):
        content[i] ^= 255
    path.write_bytes(content)
    written = report.write([store], Request(tmp_path / "out", formats=QUICK))
    assert "1 setting " in written.text
    assert "set aside" in store.notices[0]


def test_what_is_missing_or_uneven_is_said_first(filled: Fill, tmp_path: Path) -> None:
    a, b = make_setup("a"), make_setup("b")
    store = filled({a: [make_run(s, [3.0]) for s in (0, 1, 2)], b: [make_run(0, [3.0])]})
    store.save_plan("c", [(a, [0, 1, 2]), (b, [0, 1, 2]), (make_setup("a", bench="other"), [0])], {})
    text = report.write([store], Request(tmp_path / "out", formats=QUICK)).text
    assert "Warning: 3 of the 7 runs asked for are missing" in text
    assert "Warning: no method has more than 3 seeds: with fewer than 5 there are no" in text
    assert "3 of the 7 runs" in (tmp_path / "out" / "index.html").read_text()


def test_a_later_report_clears_away_the_earlier_and_nothing_else(compared: Store, filled: Fill, tmp_path: Path) -> None:
    report.write([compared], Request(tmp_path / "out", formats=("csv", "svg")))
    (tmp_path / "out" / "mine.txt").write_text("mine")
    other = Store.create(tmp_path / "other")
    other.commit(make_setup("a", bench="elsewhere"), [make_run(0, [3.0])], FACTS)
    report.write([other], Request(tmp_path / "out", formats=("csv", "svg")))
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert "curves-elsewhere.svg" in names
    assert "mine.txt" in names
    assert not names & {"curves-toy.svg", "comparison.csv"}
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis.txt").write_text("precious")
    with pytest.raises(StoreError, match="neither empty nor an earlier report"):
        report.write([other], Request(tmp_path / "papers"))


def test_published_numbers_stand_beside_ours(filled: Fill, tmp_path: Path) -> None:
    """Two settings at quantile 0.1: c-tpe wins one against random and ties the other; no run of any other method."""
    ours, theirs = (1.0, 2.0), (3.0, 2.0)
    store = filled(
        {
            make_setup(method, bench=f"hpolib-{bench}", constraint="model_size@0.1+train_time@0.1", evals=50): [
                make_run(0, [value] * 50)
            ]
            for method, values in (("c-tpe", ours), ("random", theirs))
            for bench, value in zip(("naval", "slice"), values, strict=True)
        }
    )
    report.write([store], Request(tmp_path / "out", formats=QUICK, baseline="c-tpe", literature=LITERATURE))
    with (tmp_path / "out" / "published.csv").open() as file:
        rows = list(csv.DictReader(file))
    at_50 = {(r["method"], r["settings"]): r for r in rows if r["evaluations"] == "50"}
    mine = at_50["random", "quantile 0.1"]
    assert (mine["published"], mine["published_pairs"]) == ("25/0/2", "27")
    assert (mine["pairs"], mine["wins"], mine["losses"], mine["ties"]) == ("2", "1", "0", "1")
    assert at_50["random", "runtime & network size"]["wins"] == "1"
    assert at_50["random", "network size"]["pairs"] == "0"
    assert at_50["random", "quantile 0.5"]["pairs"] == "0"
    assert at_50["cnsga2", "quantile 0.1"]["pairs"] == "0"
    assert {r["pairs"] for r in rows if r["evaluations"] == "100"} == {"0"}
    page = (tmp_path / "out" / "index.html").read_text()
    assert "no runs" in page
    assert "needs data" in page
    assert "Watanabe and Hutter" in page
    report.write([store], Request(tmp_path / "out", formats=QUICK, baseline="random", literature=LITERATURE))
    assert not (tmp_path / "out" / "published.csv").exists()
    by_time = Request(tmp_path / "out", formats=QUICK, baseline="c-tpe", metric="time", literature=LITERATURE)
    report.write([store], by_time)  # papers speak of the objective
    assert not {"published.csv", "claims.csv"} & {path.name for path in (tmp_path / "out").iterdir()}


def test_where_no_pair_is_tested_nothing_is_marked_or_claimed(filled: Fill, tmp_path: Path) -> None:
    apart = filled(
        {
            make_setup(method, bench=bench): [make_run(s, [9.0, 2.0 + s + i]) for s in range(6)]
            for i, (method, bench) in enumerate((("random", "a"), ("c-tpe", "b")))
        }
    )
    written = report.write([apart], Request(tmp_path / "out", formats=("md",)))
    said = " ".join(written.text.split())
    assert "No setting has runs of every method, so there are no ranks" in said
    assert "2 pairs of method and setting have no run; there are no ranks." in said
    text = (tmp_path / "out" / "report.md").read_text()
    assert "\\* significant" not in text


@pytest.mark.parametrize("seeds", [2, 5])
def test_too_few_seeds_earn_no_legend_of_marks_and_the_correction_counts_all_pairs(
    seeds: int, filled: Fill, tmp_path: Path
) -> None:
    """Five seeds on one setting: p is 0.008 at best, times 10 pairs."""
    store = filled(
        {make_setup(m): [make_run(s, [9.0, s % 3 + i]) for s in range(seeds)] for i, m in enumerate("abcde")}
    )
    text = " ".join(report.write([store], Request(tmp_path / "out", formats=("md",))).text.split())
    is_tested, legend = seeds >= 5, "significant (5 %, Holm over 10 pairs) on these benchmarks"
    assert (f"* {legend}, **" in text) == is_tested
    assert ("Too few seeds for intervals and p" in text) != is_tested
    assert ("cannot give p < 0.05 among 10 pairs" in text) == is_tested
    explained = (tmp_path / "out" / "report.md").read_text()
    assert (f"\n\n\\* {legend}, \\*\\* on new" in explained) == is_tested


def test_a_long_name_is_cut_in_one_way_in_all_tables_of_a_terminal(filled: Fill, tmp_path: Path) -> None:
    long = "c-tpe:candidates=48,gamma=linear,initial=5"
    methods = (long, "random", "evolution")
    store = filled({make_setup(m): [make_run(s, [9.0, 2.0 + s + i]) for s in range(6)] for i, m in enumerate(methods)})
    text = report.write([store], Request(tmp_path / "out", formats=("md",), baseline="random")).text
    cut = re.findall(r"^ *(\S*…\S*)", text, re.MULTILINE)
    assert len(cut) == 2
    assert len(set(cut)) == 1
    assert long in (tmp_path / "out" / "report.md").read_text()


def test_published_numbers_do_not_stand_beside_other_benchmarks(filled: Fill, tmp_path: Path) -> None:
    setups = {
        make_setup(m, bench="mine", constraint="model_size@0.1"): [make_run(0, [1.0])] for m in ("c-tpe", "random")
    }
    report.write([filled(setups)], Request(tmp_path / "out", formats=QUICK, baseline="c-tpe", literature=LITERATURE))
    assert not (tmp_path / "out" / "published.csv").exists()


def test_published_scores_stand_beside_our_medians(filled: Fill, tmp_path: Path) -> None:
    """NASBOT's table 3 for the data sets that we have, of its methods, without a constraint."""
    setups = {
        make_setup(method, bench=bench, constraint=constraint): [make_run(seed, [v]) for seed, v in enumerate(values)]
        for method, values in (("nasbot", (0.1, 0.3, 0.2)), ("random", (0.5, 0.6, 0.7)))
        for bench in ("hpolib-slice", "hpolib-parkinsons")
        for constraint in ("none", "model_size@0.1")
    }
    report.write([filled(setups)], Request(tmp_path / "out", formats=QUICK, literature=LITERATURE))
    with (tmp_path / "out" / "published-scores.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["benchmark"], row["method"], row["published_as"]) == ("hpolib-slice", "nasbot", "Slice")
    assert (float(row["published"]), float(row["published_std"]), float(row["ours"])) == (0.615, 0.044, 0.2)


def test_the_published_scores_are_the_papers() -> None:
    """What the text of NASBOT says of its table 3: the best on all but indoor location."""
    scores = json.loads(Path("suites/claims/nasbot.json").read_text())["scores"]
    best = {data: min(scores, key=lambda method: scores[method][data][0]) for data in scores["NASBOT"]}
    assert best == {data: "RAND" if data == "Indoor" else "NASBOT" for data in scores["NASBOT"]}


def test_methods_on_different_data_are_never_compared(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup("a"): [make_run(0, [1.0])], make_setup("b", data="sha256:1"): [make_run(0, [2.0])]})
    with pytest.raises(StoreError, match=r"two versions of the data of toy, which must not be compared"):
        report.write([store], Request(tmp_path / "out"))


def test_stale_runs_are_warned_of(compared: Store, tmp_path: Path) -> None:
    assert "stale" not in report.write([compared], Request(tmp_path / "out", formats=QUICK)).text
    text = report.write(
        [compared], Request(tmp_path / "out", formats=QUICK), is_current=lambda setup: setup.method != "random"
    ).text
    assert "has stale runs on toy: made with other data" in " ".join(text.split())


def test_shortened_labels_stay_distinct() -> None:
    labels = [f"evolution:population={n},tournament=5" for n in (10, 20, 40)]
    found = shortened(labels, 24)
    assert len(set(found)) == 3
    assert max(map(len, found)) <= 24
    assert [n for n, label in zip(("10", "20", "40"), found, strict=True) if n[0] in label] == ["10", "20", "40"]
    assert shortened(["abc"], 24) == ["abc"]
    assert shortened(["a" * 30, "b" * 30], 24) == ["a" * 12 + "…" + "a" * 11, "b" * 12 + "…" + "b" * 11]


def test_any_constraint_and_any_name_has_a_report(filled: Fill, tmp_path: Path) -> None:
    """Absolute bounds on metrics with an epoch, beside the paper's baseline; methods named like columns or formulas."""
    names = ("c-tpe", "oracle", "benchmark", "a$b$c", "method")
    setups = {
        make_setup(n, constraint="valid-f1@243>=0.5+x@9<=3"): [make_run(s, [1.0]) for s in range(2)] for n in names
    }
    text = report.write([filled(setups)], Request(tmp_path / "out", baseline="c-tpe", formats=(*QUICK, "svg"))).text
    assert "oracle" in text
    with (tmp_path / "out" / "medians.csv").open() as file:
        assert "oracle (method)" in next(csv.DictReader(file))
    assert r"x@9\textless{}=3" in (tmp_path / "out" / "medians.tex").read_text()


def test_a_damaged_run_has_no_page_but_a_sentence(filled: Fill) -> None:
    store = filled({make_setup("a"): [make_run(0, [3.0] * 50)]})
    (path,) = store.folder.glob("a.*.parquet")
    content = bytearray(path.read_bytes())
    for i in range(4, len(content) - 8 - int.from_bytes(content[-8:-4], "little"), 20):
        content[i] ^= 255
    path.write_bytes(content)
    with pytest.raises(StoreError, match="holds no finished run"):
        described(store, "a", "toy", None, 0)
    assert "is set aside" in store.notices[0]


def test_failed_runs_are_named(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup("a"): [make_run(3, [1.0, float("nan")], failure="ask: ValueError: no")]})
    report.write([store], Request(tmp_path / "out", formats=QUICK))
    assert "a on toy, none, seed 3: ask: ValueError: no" in (tmp_path / "out" / "index.html").read_text()


def test_runs_of_unequal_length_meet(filled: Fill, tmp_path: Path) -> None:
    setup = make_setup("a", evals=None, seconds=9.0)
    store = filled({setup: [make_run(0, [5.0, 4.0, 3.0]), make_run(1, []), make_run(2, [2.0])]})
    found = report.write([store], Request(tmp_path / "out", formats=QUICK)).verdict
    assert "3 runs of 9 seconds" in found.compared


def test_the_provenance_is_told(compared: Store, tmp_path: Path) -> None:
    report.write([compared], Request(tmp_path / "out", formats=QUICK))
    assert FACTS["commit"] in (tmp_path / "out" / "index.html").read_text()  # type: ignore[operator]


def test_every_format_is_written_and_only_those_asked_for(written: tuple[Store, Path], tmp_path: Path) -> None:
    store, _ = written
    shutil.copytree(written[1], tmp_path / "out")
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"index.html", "report.md", "ranks.csv", "ranks.tex", "ranks.svg", "cd.svg", "verdict.json"} <= names
    assert b"<text" in (tmp_path / "out" / "cd.svg").read_bytes()
    markdown = (tmp_path / "out" / "report.md").read_text()
    assert "| evolution | **1.00** |" in markdown
    report.write([store], Request(tmp_path / "out", formats=("md",)))
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"report.md", ".nasbench-report"}


@pytest.mark.slow
def test_every_format_has_the_same_bytes_again(written: tuple[Store, Path], tmp_path: Path) -> None:
    store, first = written
    report.write([store], Request(tmp_path / "second", formats=FORMATS))
    names = sorted(p.name for p in first.iterdir())
    assert len(names) > 40
    for name in names:
        assert (first / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


def test_terminal_tables_fit_80_columns_whatever_the_labels(filled: Fill, tmp_path: Path) -> None:
    labels = [f"evolution:population={n},tournament=25,some_other_option=0.125" for n in (10, 20)]
    store = filled({make_setup(label): [make_run(s, [3.0, 2.0, 1.5 + s]) for s in range(3)] for label in labels})
    text = click.unstyle(report.write([store], Request(tmp_path / "out", formats=QUICK)).text)
    assert max(map(len, text.splitlines())) <= 80
    assert "evolution:" in text
    assert "0.125" in text  # what tells labels apart is often at their end


def test_the_best_is_bold_in_latex_markdown_and_on_a_terminal(compared: Store, tmp_path: Path) -> None:
    text = report.write([compared], Request(tmp_path / "out", formats=("latex",))).styled
    assert "\x1b[1m" in text  # click takes it away where there is no terminal
    latex = (tmp_path / "out" / "medians.tex").read_text()
    assert r"\textbf{2.15}" in latex
    assert "Bold: the lowest." in latex


def test_two_stores_with_different_budgets_must_be_chosen_from(compared: Store, tmp_path: Path) -> None:
    other = Store.create(tmp_path / "other")
    other.commit(make_setup("b", evals=2), [make_run(0, [3.0, 2.0])], FACTS)
    with pytest.raises(StoreError, match=r"and .*other: runs that must not be compared with each other; choose one of"):
        report.write([compared, other], Request(tmp_path / "out", formats=QUICK))
    chosen = Request(tmp_path / "out", formats=QUICK, protocol="2 evaluations on 1 worker")
    assert "1 run of" in report.write([compared, other], chosen).verdict.compared


def test_one_seed_ties_and_a_method_that_mostly_failed_are_said(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup("a"): [make_run(0, [3.0])], make_setup("b"): [make_run(0, [3.0])]})
    text = report.write([store], Request(tmp_path / "out", formats=QUICK)).text
    assert "Warning: no method has more than 1 seed" in text
    assert "a and b are identical here" in text
    broken = [make_run(s, [1.0, float("nan")], failure="ask: no") for s in (1, 2)]
    store = filled({make_setup("c"): [make_run(0, [3.0]), *broken]})
    text = report.write([store], Request(tmp_path / "out", formats=QUICK)).text
    assert text.startswith("2 of 3 runs of c failed (ask: no): it is left out.")


def test_a_run_without_anything_feasible_is_padded_not_dropped(filled: Fill, tmp_path: Path) -> None:
    nothing = [make_run(s, [1.0, 1.0, 1.0], [False] * 3) for s in range(3)]
    store = filled({make_setup("a"): nothing, make_setup("b"): [make_run(s, [5.0, 5.0, 5.0]) for s in range(3)]})
    report.write([store], Request(tmp_path / "out", formats=QUICK, baseline="b", optional=("targets",)))
    with (tmp_path / "out" / "medians.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (float(row["a"]), float(row["b"])) == (100.0, 5.0)
    with (tmp_path / "out" / "targets.csv").open() as file:
        reached = {r["method"]: float(r["3"]) for r in csv.DictReader(file)}
    assert reached["a"] == 0.0
    assert reached["b"] > 0.0


# One run's page


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ((6.0, True), "Scored: 6 % in the hidden repetition, which reports compare; mean over all repetitions 8 %"),
        ((math.nan, False), "Scored: nothing found (a failure or a violation) in the hidden repetition, which reports"),
        ((math.nan, None), "Scored: mean over all repetitions 8 %, which reports compare"),
    ],
)
def test_a_runs_page_tells_what_reports_compare(hidden: tuple[float, bool | None], said: str, filled: Fill) -> None:
    run = make_run(0, [5.0, 4.0], scores=[(7.0, True), (8.0, True)], hidden=[(1.0, True), hidden])
    assert said in " ".join(described(filled({make_setup("a"): [run]}), "a", "toy", None, 0).split())


def test_a_runs_page_tells_steps_feasibility_and_time(filled: Fill) -> None:
    failed = make_run(7, [9.0, math.nan, 4.0, 5.0, 3.0], [True, True, True, True, False])
    store = filled({make_setup("a"): [make_run(6, [1.0]), failed]})
    text = described(store, "a", "toy", None, 7)
    assert "Best valid-error@1: 4 % observed (evaluation 3; oracle 1, regret 3, 300 %)" in text
    assert 'Best configuration: {"x": 2}' in text
    assert "Feasible: 3 of 5 evaluations (60 %), the first at evaluation 1, after 1 s" in text
    steps = text.partition("Incumbent steps\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split() for line in steps[1:]] == [["1", "1", "9", "x=0"], ["3", "3", "4", "x=2"]]
    assert "clock: 5 s to the end of the last evaluation; 1 worker busy 100 %" in text
    assert "method: 2.5 s measured, 500 ms per evaluation" in text
    assert "1 failed evaluation, the first: boom" in text
    assert "commit c0ffee" in text


def test_a_run_that_is_not_there_is_named_with_what_is(filled: Fill) -> None:
    store = filled({make_setup("random", constraint=c): [make_run(0, [1.0])] for c in ("none", "size@0.1")})
    with pytest.raises(StoreError, match=r"no runs of the method 'randm' \(did you mean random\?\); allowed: random"):
        described(store, "randm", "toy", None, 0)
    with pytest.raises(StoreError, match="no runs of the bench 'tow'"):
        described(store, "random", "tow", None, 0)
    with pytest.raises(StoreError, match=r"several constraints: add one of --constrain 'none'; --constrain 'size@0.1'"):
        described(store, "random", "toy", None, 0)
    with pytest.raises(StoreError, match="no such run with seed 5; its seeds lie in 0 … 0"):
        described(store, "random", "toy", "none", 5)
    nothing = filled({make_setup("a", bench="other"): [make_run(0, [1.0], [False])]})
    assert "No feasible evaluation among 1." in described(nothing, "a", "other", "none", 0)
