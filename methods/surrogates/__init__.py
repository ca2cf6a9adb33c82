"""Gaussian processes that methods learn with: one way to condition on observations, and three kinds of covariance."""
