"""Methods that choose how long to train, such as Hyperband, whose rungs let only the better trainings continue."""
