"""Writes the miniatures in files/, each by the tool itself, and VERSIONS.txt: `python make_experiments.py [NAME…]`.

Needs an environment of its own: pip install syne-tune carps hpbandster ioh coco-experiment. Made with Syne Tune 0.16.0,
CARP-S 1.1.0, HpBandSter 0.7.4, IOHexperimenter 0.4.2 and COCO 2.8.2. HpBandSter's processes did not talk to each other
on Python 3.11: its own iteration and its own logger write the files, without its dispatcher. What no reader opens is
deleted: Syne Tune's folders of trials, COCO's files beside .info and .dat, and most columns of CARP-S's Parquet file.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

FILES = Path(__file__).parent / "files"
TOOLS = ("syne-tune", "carps", "hpbandster", "ioh", "coco-experiment")
TRAINING = """
import argparse
from syne_tune import Reporter

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
parser.add_argument("--width", type=float)
parser.add_argument("--height", type=float)
given, _ = parser.parse_known_args()
report = Reporter()
for step in range(given.epochs):
    report(epoch=step + 1, mean_loss=1 / (0.1 + given.width * step / 100) + 0.1 * given.height)
"""


def syne_tune(folder: Path) -> None:
    """Random search without names in its metadata, ASHA with them."""
    from syne_tune import StoppingCriterion, Tuner
    from syne_tune.backend import LocalBackend
    from syne_tune.config_space import uniform
    from syne_tune.optimizer.baselines import ASHA, RandomSearch

    space = {"epochs": 3, "width": uniform(0, 20), "height": uniform(-10, 10)}
    with TemporaryDirectory() as scratch:
        (training := Path(scratch) / "train_height.py").write_text(TRAINING)
        for seed in (1, 2):
            searches = {
                "rs": RandomSearch(space, metrics=["mean_loss"], do_minimize=True, random_seed=seed),
                "asha": ASHA(space, metric="mean_loss", time_attr="epoch", max_t=3, do_minimize=True, random_seed=seed),
            }
            for name, search in searches.items():
                tuner = Tuner(
                    trial_backend=LocalBackend(entry_point=str(training)),
                    scheduler=search,
                    stop_criterion=StoppingCriterion(max_num_trials_finished=5),
                    n_workers=1,
                    sleep_time=0.2,
                    tuner_name=f"{name}-{seed}",
                    metadata={"benchmark": "train_height", "algorithm": "asha", "seed": seed} if name == "asha" else {},
                )
                tuner.run()
                target = folder / f"{name}-{seed}"
                target.mkdir(parents=True)
                for file in ("metadata.json", "results.csv.zip"):
                    shutil.copy(tuner.tuner_path / file, target)
                shutil.rmtree(tuner.tuner_path)


def carps(folder: Path) -> None:
    """Random search on two functions of BBOB, and what CARP-S gathers of it."""
    import pandas as pd

    with TemporaryDirectory() as scratch:
        for task in ("cfg_2_1_0", "cfg_2_2_0"):
            for seed in (1, 2):
                asked = ["+optimizer/randomsearch=config", f"+task/BBOB={task}", f"seed={seed}"]
                command = [sys.executable, "-m", "carps.run", *asked, "task.optimization_resources.n_trials=8"]
                subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        command = [sys.executable, "-m", "carps.analysis.gather_data", "runs"]
        subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        for log in Path(scratch).rglob("trial_logs.jsonl"):
            target = folder / log.parent.relative_to(scratch)
            (target / ".hydra").mkdir(parents=True)
            shutil.copy(log, target)
            shutil.copy(log.parent / ".hydra" / "config.yaml", target / ".hydra")
        frame = pd.read_parquet(Path(scratch) / "runs" / "logs.parquet")
        named = ("trial_info__", "trial_value__", "n_")
        kept = [c for c in frame if c in ("task_id", "optimizer_id", "seed", "task_type") or c.startswith(named)]
        frame[kept].to_parquet(folder / "logs.parquet", index=False, compression="zstd")


def hpbandster(folder: Path) -> None:
    """Successive halving, and the same without its lower budgets, on a quadratic function that fails above 2."""
    from hpbandster.core.dispatcher import Job
    from hpbandster.core.result import json_result_logger
    from hpbandster.optimizers.iterations import SuccessiveHalving

    for method, configs, budgets in (("halving", [4, 2], [3.0, 9.0]), ("random", [2], [9.0])):
        for seed in (1, 2):
            draws = random.Random(seed)
            logger = json_result_logger(str(folder / method / "quadratic" / str(seed)))
            clock = 0.0
            for number in range(2):

                def draw(budget: float, draws: random.Random = draws) -> tuple[dict[str, float], dict[str, object]]:
                    return {"x": draws.uniform(-5, 5)}, {}

                search = SuccessiveHalving(
                    HPB_iter=number,
                    num_configs=configs,
                    budgets=budgets,
                    config_sampler=draw,
                    result_logger=logger,
                )
                while (run := search.get_next_run()) is not None or search.stage < len(budgets) - 1:
                    if run is None:
                        search.process_results()  # which begins the next budget
                        continue
                    key, config, budget = run
                    job = Job(key, config=config, budget=budget)
                    job.timestamps = {"submitted": clock, "started": clock, "finished": clock + budget}
                    clock += budget
                    if config["x"] > 2:
                        job.exception = "Traceback: too large"
                    else:
                        job.result = {"loss": (config["x"] - 1) ** 2 + 1 / budget, "info": {}}
                    logger(job)
                    search.register_result(job)


def ioh(folder: Path) -> None:
    """Random search: improvements on two functions, and every evaluation of one that is maximised."""
    import ioh

    logger = ioh.logger.Analyzer(root=str(folder), folder_name="improvements", algorithm_name="random")
    for function in ("Sphere", "Ellipsoid"):
        for instance in (1, 2):
            problem = ioh.get_problem(function, instance, 2)
            problem.attach_logger(logger)
            draws = random.Random(instance)
            for _ in range(12):
                problem([draws.uniform(-5, 5) for _ in range(2)])
            problem.reset()
    logger.close()
    logger = ioh.logger.Analyzer(
        root=str(folder),
        folder_name="every",
        algorithm_name="bits",
        triggers=[ioh.logger.trigger.ALWAYS],
        additional_properties=[ioh.logger.property.RAWYBEST],
    )
    problem = ioh.get_problem("OneMax", 1, 8, ioh.ProblemClass.PBO)
    problem.attach_logger(logger)
    for seed in (1, 2):
        draws = random.Random(seed)
        for _ in range(10):
            problem([draws.randint(0, 1) for _ in range(8)])
        problem.reset()
    logger.close()


def coco(folder: Path) -> None:
    """Random search on two functions of bbob, and one of two objectives, with the best values as COCO states them."""
    import cocoex

    best = {}
    with TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for suite, asked in (("bbob", "instances: 1-3"), ("bbob-biobj", "instances: 1")):
            functions = "1-2" if suite == "bbob" else "1"
            problems = cocoex.Suite(suite, asked, f"function_indices: {functions} dimensions: 2")
            observer = cocoex.Observer(suite, f"result_folder: {suite} algorithm_name: random")
            for problem in problems:
                problem.observe_with(observer)
                draws = random.Random(problem.index)
                for _ in range(20):
                    problem([draws.uniform(-5, 5) for _ in range(problem.dimension)])
                if suite == "bbob":
                    best[problem.id] = problem.best_observed_fvalue1
                problem.free()
            del observer
        for file in Path(scratch).rglob("*"):
            if file.suffix in (".info", ".dat"):
                target = folder / file.relative_to(Path(scratch) / "exdata")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
    (folder / "best.json").write_text(json.dumps(best, indent=1) + "\n")


if __name__ == "__main__":
    named = {write.__name__: write for write in (syne_tune, carps, hpbandster, ioh, coco)}
    for write in [named[name] for name in sys.argv[1:] or named]:
        shutil.rmtree(FILES / write.__name__, ignore_errors=True)
        (FILES / write.__name__).mkdir(parents=True)
        write(FILES / write.__name__)
    lines = [f"{tool} {version(tool)}" for tool in TOOLS]
    (FILES / "VERSIONS.txt").write_text("\n".join(lines) + "\n")
