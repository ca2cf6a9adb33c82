"""The ground floor: what every room stands on. It imports nothing of ours from above."""
