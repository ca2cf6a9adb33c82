"""A small table of a user's own, and its specification."""

from pathlib import Path

SPEC = """
name = "mine"
cost = "time"
repetition = "seed"
missing = "invalid"
[[hyperparameter]]
name = "lr"
kind = "ordinal"
log = true
[[hyperparameter]]
name = "act"
kind = "categorical"
values = ["tanh", "relu"]
[[metric]]
name = "valid-error@9"
column = "accuracy"
complement_of = 1
split = "valid"
epoch = 9
[[metric]]
name = "test-error@9"
column = "test"
split = "test"
epoch = 9
[[metric]]
name = "time"
unit = "s"
[[metric]]
name = "size"
missing_value = -1
"""
CSV = """lr,act,seed,accuracy,test,time,size
0.1,relu,1,0.9,0.2,3,10
0.1,relu,2,0.8,0.3,4,10
0.01,relu,1,0.7,0.4,5,-1
0.1,tanh,1,0.6,0.5,6,30
"""


def files(folder: Path, csv: str = CSV, spec: str = SPEC) -> tuple[Path, Path]:
    """A table and its specification as files."""
    data, toml = folder / "t.csv", folder / "spec.toml"
    data.write_text(csv)
    toml.write_text(spec)
    return data, toml
