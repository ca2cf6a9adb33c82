"""The measurements behind `nasbench speed`: our speed beside that of a peer, in one process."""
