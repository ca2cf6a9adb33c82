"""Methods whose model is a Gaussian process per quantity, on hyper-parameters."""
