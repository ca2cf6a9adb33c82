"""From what was asked for to stored trajectories: plan, runner, workers, executors."""
