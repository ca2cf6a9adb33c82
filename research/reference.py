"""Writes the generated shelf of the book: a page for each method, the embedded tables, and the command line.

    python -m research.reference     # writes docs/reference/, and the tables of docs/methods.md and docs/benchmarks.md

Everything comes from docstrings, from what methods and benchmarks state of themselves, and from click. A test compares
the pages with what this would write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nasbench.base.options import description, option_defaults, option_meanings, option_text
from nasbench.benchmarks import BENCHMARKS, UsageError, open_benchmark
from nasbench.benchmarks.spaces import views
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine.plan import misfit
from nasbench.cli.main import COMMANDS
from nasbench.methods import METHODS, LongSearch, Method, MethodSpec, Problem

DOCS = Path(__file__).parents[1] / "docs"
_VIEWS = {
    views.AsFlat: "a list of hyper-parameters",
    views.AsSequence: "a sequence of choices",
    views.AsGraph: "networks, as graphs of layers",
    views.AsSupernet: "a supernet",
    views.AsBlocks: "networks that grow by blocks",
}
_FOLDERS = {
    "": "Classics",
    "tpe": "TPE and c-TPE",
    "nasbot": "NASBOT",
    "oneshot": "One-shot search",
    "fidelity": "How long to train",
    "gaussian": "Gaussian processes",
    "growing": "Growing networks, trees of decisions",
    "transfer": "What other tasks say",
    "external": "Other people's",
}
"""Folders of `methods/`, and what their methods are."""
_EXAMPLES = ("hpolib-naval", "nb201-cifar10", "sk-boosting-wine", "digits", "synthetic-cnn")
_WRITTEN = {"process": ":command=examples/programs/agent.sh", "optunahub": ":path=CLONE,package=samplers/ctpe"}
"""Options without which a method does not run."""
_FRONTS = ("nsga2", "motpe", "c-motpe", "parego", "ax-nehvi")  # whose examples have two objectives
_TABLE = re.compile(r"(<!-- from (methods|tables) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> dict[Path, str]:
    """The text of every page that is generated, or has a table that is."""
    methods = [name for name in METHODS.names() if not METHODS.is_foreign(name)]
    made = {DOCS / "reference" / "methods" / f"{name}.md": method_page(name) for name in methods}
    made[DOCS / "reference" / "command-line.md"] = _command_line()
    made[DOCS / "pages.md"] = _every_page()
    tables = {"methods": lambda: _methods(methods), "tables": _tables}
    for page in (DOCS / "methods.md", DOCS / "benchmarks.md"):
        text = page.read_text(encoding="utf-8")
        made[page] = _TABLE.sub(lambda found: f"{found[1]}{tables[found[2]]()}{found[3]}", text)
    return made


def method_page(name: str) -> str:
    """The page of a method, in the shape that all have."""
    method, spec = METHODS.get(name), MethodSpec(name)
    summary, *rest = (" ".join(part.split()) for part in description(method).split("\n\n"))
    advice = [part for part in rest if part.startswith(("Take it for ", "Beside its source: "))]
    facts = {
        "runs on": _needs(method),
        "repeatable on": str(spec.repeatable),
        "thinking": _thinking(method),
        "defaults chosen on": ", ".join(spec.tuned_on) or "no search space",
        "version": str(spec.version),
    }
    lines = [f"# {name}", "", summary, "", *_spaced(advice), "```", _example(name), "```", ""]
    lines += ["| | |", "|---|---|", *(f"| {fact} | {value} |" for fact, value in facts.items()), ""]
    if options := option_defaults(method):
        meanings = option_meanings(method)
        lines += ["| option | default | meaning |", "|---|---|---|"]
        lines += [f"| `{o}` | {_default(default)} | {_cell(meanings[o])} |" for o, (_, default) in options.items()]
        lines.append("")
    detail = _spaced(part for part in rest if part not in advice)
    lines += ["## How it works", "", *detail] if detail else []
    lines += [f"Source: {method.about.source}" if method.about.source else "", ""]
    return "\n".join(lines).rstrip() + "\n"


def _thinking(method: type[Method]) -> str:
    if issubclass(method, LongSearch):
        return "a search of minutes or more before the first proposal"
    return f"some {method.about.seconds * 1000:.3g} ms a proposal" if method.about.seconds else "hardly any"


def _spaced(parts: Iterator[str] | list[str]) -> list[str]:
    return [line for part in parts for line in (part, "")]


def _default(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else option_text(value)
    return f"`{text}`" if text else "empty"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _needs(method: type[Method]) -> str:
    """The spaces that a method searches, in words."""
    words = [_VIEWS[view] for view in method.needs.views]
    words += ["a benchmark with a fidelity"] * method.needs.fidelity
    return ", and ".join(words) or "any space"


def _example(name: str) -> str:
    """A command that runs the method, on the first benchmark that it fits."""
    spec = MethodSpec(name)
    fitting = next((bench for bench in _EXAMPLES if _fits(spec, bench)), _EXAMPLES[0])
    asked = " --objective x-valid-error --objective latency" if name in _FRONTS else ""
    bench = "nb201-cifar10" if asked else fitting
    budget = " --evals 20" if bench == "digits" else ""
    return f"nasbench run --method {name}{_WRITTEN.get(name, '')} --bench {bench}{asked} --seeds 5{budget}"


def _fits(spec: MethodSpec, bench: str) -> bool:
    try:
        return not misfit(spec, Problem.of(open_benchmark(bench)))
    except UsageError:
        return False


def _methods(names: list[str]) -> str:
    """A table of the methods by folder, each with its summary and a link to its page."""
    lines = []
    for folder, title in _FOLDERS.items():
        inside = [name for name in names if _folder(name) == folder]
        lines += [f"\n### {title}\n", "| method | what it does |", "|---|---|"]
        lines += [f"| [`{n}`](reference/methods/{n}.md) | {_summary(METHODS.get(n))} |" for n in inside]
    return "\n".join(lines) + "\n\n"


def _folder(name: str) -> str:
    parts = METHODS.get(name).__module__.removeprefix("nasbench.methods.").split(".")
    return parts[0] if len(parts) > 1 else ""


def _summary(method: type[Method]) -> str:
    return _cell(" ".join(description(method).split("\n\n")[0].split()))


def _tables() -> str:
    """A table of the embedded tables: what each has."""
    lines = ["\n| table | configurations | repetitions | objective | other metrics |", "|---|---|---|---|---|"]
    for name in BENCHMARKS.names():
        benchmark = open_benchmark(name) if not BENCHMARKS.is_foreign(name) else None
        if isinstance(benchmark, TabularBenchmark):
            first, *others = (metric.name for metric in benchmark.metrics)
            shown = ", ".join(f"`{other}`" for other in others[:3]) + (", …" if len(others) > 3 else "")
            lines.append(f"| `{name}` | {benchmark.space.size:,} | {benchmark.repetitions} | `{first}` | {shown} |")
    return "\n".join(lines) + "\n\n"


def _every_page() -> str:
    """A list of all pages, by the shelves of mkdocs.yml, for readers of the repository."""
    lines = ["# All pages", ""]
    _, _, navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    for indent, title, page in re.findall(r"^( +)- \"?([^\"\n]+?)\"?: *(\S*)$", navigation, re.MULTILINE):
        if page in ("index.md", "pages.md"):
            continue
        link, depth = f"[{title}]({page})" if page else title, len(indent) // 4
        lines += [f"{'  ' * (depth - 1)}* {link}"] if depth else ["", f"## {link}", ""]
    lines += ["", "What was measured, and everything in full, is in [the notebook](notebook/index.md)."]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _command_line() -> str:
    """The help of every command, as it prints it."""
    from click import Group
    from click.testing import CliRunner

    from nasbench.cli.main import cli

    lines = ["# Command line", "", "Every command, as `nasbench COMMAND --help` prints it.", ""]
    for name in COMMANDS:
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        inner = list(command.commands) if isinstance(command, Group) else []
        for words in ([name], *([name, each] for each in inner)):
            shown = CliRunner().invoke(cli, [*words, "--help"], prog_name="nasbench", terminal_width=100).output
            lines += [f"## {' '.join(words)}", "", "```text", shown.rstrip(), "```", ""]
    return "\n".join(lines)


def main() -> None:
    """Writes the pages."""
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
