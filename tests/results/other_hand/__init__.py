"""Reports recomputed from the words of docs/notebook/statistics.md, with numpy, scipy and pyarrow alone."""
