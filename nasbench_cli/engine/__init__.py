"""Turns a request into stored trajectories: plan, runner, workers, executors. It prints nothing."""
