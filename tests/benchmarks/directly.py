"""Cells of the tables `sk-…`, read and computed anew with NumPy and scikit-learn alone, without the project."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

PACKED = Path(__file__).parents[2] / "benchmarks" / "tabular" / "packed"
LEVELS = 2, 6, 18, 54


def array(folder: Path, digest: str) -> np.ndarray:
    content = lzma.decompress((folder / f"{digest}.npy.xz").read_bytes())
    assert hashlib.sha256(content).hexdigest() == digest
    found: np.ndarray = np.load(io.BytesIO(content))
    return found


def cells(name: str, rng: np.random.Generator, count: int) -> Iterator[tuple[dict[str, Any], int, dict[str, float]]]:
    """Random cells of a table: the values of the hyper-parameters, the repetition, and what the table says of them."""
    folder = PACKED / name
    facts = json.loads((folder / "table.json").read_text())
    values = array(folder, facts["values"])
    curves = array(folder, facts["epochs"]) if facts["epochs"] else None
    sizes = [len(h["values"]) for h in facts["space"]]
    for _ in range(count):
        row, repetition = int(rng.integers(len(values))), int(rng.integers(values.shape[1]))
        choices = np.unravel_index(row, sizes)
        own = {h["name"]: h["values"][c] for h, c in zip(facts["space"], choices, strict=True)}
        told = {m["name"]: float(v) for m, v in zip(facts["metrics"], values[row, repetition], strict=True)}
        if curves is not None:
            for place, level in enumerate(LEVELS):
                for column, metric in enumerate(facts["recorded"]):
                    told[metric.replace("@54", f"@{level}")] = float(curves[row, repetition, place, column])
        yield own, repetition, told


def computed(name: str, values: dict[str, Any], repetition: int) -> dict[str, float]:
    """Scores and bytes of a cell by scikit-learn."""
    from sklearn import datasets, ensemble, linear_model, neighbors, svm
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    _, learner, data = name.split("-")
    digest = hashlib.sha256(f"learner:{learner}:{data} {repetition}".encode()).digest()
    seed = int.from_bytes(digest[:8]) // 2 % 2**32
    load = {"cancer": datasets.load_breast_cancer, "wine": datasets.load_wine, "digits": datasets.load_digits}
    x, y = load.get(data, datasets.load_diabetes)(return_X_y=True)
    classes = data != "diabetes"

    def halves(x: np.ndarray, y: np.ndarray) -> Any:
        return train_test_split(x, y, train_size=0.5, random_state=seed, stratify=y if classes else None)

    train, rest, train_y, rest_y = halves(x, y)
    val, test, val_y, test_y = halves(rest, rest_y)
    scaler = StandardScaler().fit(train)
    train, val, test = map(scaler.transform, (train, val, test))
    if not classes:
        mean, deviation = train_y.mean(), train_y.std()
        train_y, val_y, test_y = ((part - mean) / deviation for part in (train_y, val_y, test_y))
    if learner == "svm":
        model = (svm.SVC if classes else svm.SVR)(**values, max_iter=100_000)
        model.random_state = seed
    elif learner == "knn":
        model = (neighbors.KNeighborsClassifier if classes else neighbors.KNeighborsRegressor)(**values)
    elif learner == "linear":
        mix = {"l1": 1.0, "l2": 0.0, "elasticnet": values["mix"]}[values["penalty"]]
        model = linear_model.ElasticNet(alpha=1 / (values["C"] * len(train)), l1_ratio=mix, random_state=seed)
        if classes:
            model = linear_model.LogisticRegression(C=values["C"], l1_ratio=mix, solver="saga", random_state=seed)
    elif learner == "forest":
        kind = ensemble.RandomForestClassifier if classes else ensemble.RandomForestRegressor
        model = kind(**values, warm_start=True, random_state=seed)
    else:
        kind = ensemble.HistGradientBoostingClassifier if classes else ensemble.HistGradientBoostingRegressor
        model = kind(**values, min_samples_leaf=5, early_stopping=False, warm_start=True, random_state=seed)

    def error(rows: np.ndarray, wanted: np.ndarray) -> float:
        answers = model.predict(rows)
        if classes:
            return float(100 * (answers != wanted).mean())
        low, high = train_y.min(), train_y.max()
        return float(100 * np.sqrt(((np.clip(answers, low, high) - wanted) ** 2).mean()))

    quantity, found = "error" if classes else "rmse", {}
    steps = {"forest": "n_estimators", "boosting": "max_iter"}.get(learner)
    for level in LEVELS if steps else (None,):
        if steps:
            model.set_params(**{steps: level})
        with warnings.catch_warnings(action="ignore"):
            model.fit(train, train_y)
        at = f"@{level}" if steps else ""
        found |= {f"val-{quantity}{at}": error(val, val_y), f"test-{quantity}{at}": error(test, test_y)}
    return found | {"model_size": float(len(pickle.dumps(model, protocol=5)))}
