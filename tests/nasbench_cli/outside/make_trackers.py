"""Makes the files of MLflow 3.17.2 and Ray 2.60.0 in `files/`, by the tools themselves.

In an environment with `pip install mlflow-skinny==3.17.2 pandas "ray[tune]==2.60.0"`: `python make_trackers.py mlflow`,
`python make_trackers.py ray`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

FILES = Path(__file__).parent / "files"


def without_folders(path: Path, scratch: Path) -> None:
    """Replaces the folders of this machine in a text: nobody else has them."""
    if path.is_file():
        text = path.read_text()
        for folder, name in ((scratch, "scratch"), (sys.prefix, "environment"), (FILES.parents[3], "project")):
            text = text.replace(str(folder), f"/{name}")
        path.write_text(text)


def mlflow() -> None:
    """An experiment of eight runs (one failed), and the frame that `search_runs` gives of it."""
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    target, scratch = FILES / "mlruns", Path(tempfile.mkdtemp()) / "mlruns"
    mlflow.set_tracking_uri(scratch.as_uri())
    mlflow.set_experiment("random/digits/3")
    for number in range(8):
        with mlflow.start_run(run_name=f"trial-{number}"):
            mlflow.log_params({"depth": number % 3 + 1, "rate": 0.1 * (number + 1)})
            for step in range(2):
                mlflow.log_metric("val_accuracy", 0.5 + 0.05 * (7 * number % 8) - 0.1 * (1 - step), step=step)
            mlflow.log_metric("train_loss", 1.0 / (number + 1))
    run = mlflow.start_run(run_name="breaks")
    mlflow.log_param("depth", 9)
    mlflow.end_run("FAILED")
    mlflow.search_runs(experiment_names=["random/digits/3"]).to_csv(FILES / "mlflow.csv", index=False)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(scratch, target)
    for path in [FILES / "mlflow.csv", *target.rglob("*")]:
        without_folders(path, scratch.parent)
    print(mlflow.__version__, run.info.run_id)


def ray() -> None:
    """An experiment of six trials of three reports each, of which one breaks."""
    import ray
    from ray import tune

    def trainable(config: dict[str, float]) -> None:
        for step in range(3):
            if config["x"] == 3 and step == 1:
                raise RuntimeError("breaks")
            tune.report({"loss": (config["x"] - 2) ** 2 + 1 / (step + 1)})

    ray.init(num_cpus=1, include_dashboard=False)
    with tempfile.TemporaryDirectory() as scratch:
        tuner = tune.Tuner(
            trainable,
            param_space={"x": tune.grid_search([0, 1, 2, 3, 4, 5])},
            tune_config=tune.TuneConfig(max_concurrent_trials=1),
            run_config=tune.RunConfig(name="grid__parabola__4", storage_path=scratch),
        )
        tuner.fit()
        source, target = Path(scratch) / "grid__parabola__4", FILES / "grid__parabola__4"
        shutil.rmtree(target, ignore_errors=True)
        for path in sorted(source.rglob("*")):
            print(path.relative_to(source))
            if path.name in ("result.json", "params.json", "progress.csv", "error.txt"):
                copy = target / path.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
                without_folders(copy, Path(scratch))
    print(ray.__version__)


if __name__ == "__main__":
    {"mlflow": mlflow, "ray": ray}[sys.argv[1]]()
