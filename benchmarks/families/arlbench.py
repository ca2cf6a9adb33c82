"""ARLBench (Becktepe et al., EWRL 2024): hyper-parameters of reinforcement learning, ten seeds, ten budgets.

Each table has 256 configurations of DQN or PPO on one environment. An inactive hyper-parameter has its lowest
value.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench.base.metrics import Metric
from nasbench.benchmarks.families._family import Family, frame, ordinal, rows_of
from nasbench.benchmarks.spaces import Categorical, Float, Hyperparameter, Integer
from nasbench.benchmarks.tabular.imported import TableData

if TYPE_CHECKING:
    import pandas as pd

# By file: its SHA-256, and the group of tables with similar rankings (average linkage of Spearman's coefficient of the
# mean return at 0.4). Not taken: minigrid_unlock_dqn, where 6 % of the variance is between configurations.
_FILES = {
    "atari_battle_zone_dqn": ("0cca4555464308debba5b25d3db902e3b8e975485d5b78d37d029d58a0cdde84", 1),
    "atari_double_dunk_dqn": ("dcc6438e5cbff1e10d9af5677ce9f75ade971d82b2b7ce0cd1a30c3fba7e4ea6", 1),
    "atari_phoenix_dqn": ("7e5871fa92b7d30f5896e75d69e15cb24199370b78d489ee4a0572b3a7ccd966", 1),
    "atari_qbert_dqn": ("694bfa1c9ba65f7cfecf592bc6bb88140a026b623c568324804ee33a15f10715", 1),
    "atari_this_game_dqn": ("49d3e5e438d64db00041228e4fdb05d3bad89cd74262af5ea3277524c34e34ab", 1),
    "box2d_lunar_lander_dqn": ("95d1a55d4eb2aa590a9f5bfb0a52bf547edf640cb7c929ce00fa8d13eb09f159", 2),
    "cc_acrobot_dqn": ("8c7dd95cdc83e3739218dc614b314976372e704f5b47a834fee3cb8f718fd5f2", 2),
    "cc_cartpole_dqn": ("2cf0553c060b07bb331fdb78f3df58b2b0c7f61a1d722096b4889bac2541104c", 2),
    "cc_mountain_car_dqn": ("4373fbca067bb20c050e8ce65e7aef10e49b1a1ca668cca772a6d98f0cef8fa0", 2),
    "minigrid_door_key_dqn": ("65001d958d2c50f9a21277cb558b5dd73613078ac925a04d0540062293872de8", 3),
    "minigrid_empty_random_dqn": ("3cb45552fe8fa17f42efe3b154429c680bb34fd9c4937684038ae942d4f040c7", 3),
    "minigrid_four_rooms_dqn": ("82e9d198133b07829d6b9852aefd02e501da438cc6c281d5b6f2e39727382ef2", 3),
    "cc_cartpole_ppo": ("659fdbce20653d129e1de9f1e828034bd3a6d4167d41504d43e4917d0cdddebe", 1),
    "cc_mountain_car_ppo": ("4f5c5368953401d3ff8536859fe287631ae81e468437fae1d9d3c6305cff7e40", 2),
    "minigrid_door_key_ppo": ("bcb4db539a3adddf959279e2f9d681d7d885836299667907fd97328b83a5f99a", 3),
    "minigrid_empty_random_ppo": ("ccbc5fff958e7007fc3ad9d7f5c39229c04a32e6ff91eaa963190c15000aedd7", 3),
    "minigrid_four_rooms_ppo": ("83492e9c7b0c06e8cb17723c800116039c51a8cbb83a75a5a651fb30e96ae9bf", 3),
    "minigrid_unlock_ppo": ("35aab9e34d84b0118015e762464cbf54f8a471b8ac2764e75aafbe557d893755", 3),
}
_RETURN = "return_"  # before the number of steps
_CHOICES = ("buffer_batch_size", "minibatch_size")
_INTEGERS = ("buffer_size", "learning_starts", "target_update_interval")
_LOGARITHMIC = ("learning_rate",)


def _tables(family: Family, folder: Path) -> list[TableData]:
    return [_table(family, name, group, frame(folder / f"{name}.parquet")) for name, (_, group) in _FILES.items()]


def _table(family: Family, name: str, group: int, data: pd.DataFrame) -> TableData:
    names = data.columns.tolist()
    returns = [name for name in names if name.startswith(_RETURN)]
    rows = rows_of(
        dict(_hyperparameter(name, data[name]) for name in names if name not in (*returns, "run_id", "seed"))
    )
    levels = tuple(int(column.removeprefix(_RETURN)) for column in returns)
    curves = rows.filled(0 - data[returns].to_numpy(float))
    last = levels[-1]
    objective = Metric(
        f"only-negative-return@{last}", "", True, "minus the mean return of an episode after training", "only", last
    )
    cost = Metric("cost", "s", description="1 s per tenth of the steps: no time is recorded")
    columns = {objective: curves[:, :, -1], cost: 0 * curves[:, :, -1] + len(levels)}
    algorithm = f"arlbench-{name.rpartition('_')[2]}"
    return family.table(
        f"arlbench-{name.replace('_', '-')}",
        rows.space,
        columns,
        family=f"{algorithm}-group-{group}",
        search_space=algorithm,
        curves=curves[:, :, :, None],
        recorded=(objective.name,),
        levels=levels,
        counted=("steps", "1 step"),
        absence="the training diverged",
    )


def _hyperparameter(name: str, column: pd.Series[Any]) -> tuple[Hyperparameter, list[Any]]:
    """A hyper-parameter, and its values by row."""
    if column.dtype == bool:
        return Categorical(name, (False, True)), column.tolist()
    if name in _CHOICES:
        return ordinal(name, column.tolist()), column.tolist()
    low, high = column.min(), column.max()
    values = np.where(column.isna(), low, column).tolist()
    if name in _INTEGERS:
        return Integer(name, int(low), int(high)), values
    return Float(name, float(low), float(high), log=name in _LOGARITHMIC), values


FAMILY = Family(
    name="arlbench",
    what="256 configurations of DQN (12 environments) and PPO (6), 10 seeds, 10 budgets",
    repository="automl/arlbench",
    commit="61a4a3abc30266c5b80eae6cddafe8d296e258e7",
    path="results_combined/sobol/*.csv",
    licence="BSD-3-Clause (2024 AutoML Hannover)",
    citation="ARLBench (Becktepe et al., EWRL 2024)",
    files={f"{name}.parquet": digest for name, (digest, _) in _FILES.items()},
    tables=_tables,
)
