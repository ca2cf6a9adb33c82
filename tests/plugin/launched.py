"""An executor in one file: each batch is a command of its own, as the queue of a cluster would start it."""

from __future__ import annotations

import pickle
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from nasbench import Executor
from nasbench.cli.engine.executors import Batch, BatchResult, Lost, Records, Work, compute_batch


class Launched(Executor):
    """Computes each batch by a new Python process.

    Options:
        prefix: words before the command that starts it, such as `nice` or `srun`.
    """

    local = True

    def __init__(self, jobs: int, *, prefix: str = "") -> None:
        super().__init__(jobs)
        self._prefix = shlex.split(prefix)
        self._processes: list[subprocess.Popen[bytes]] = []

    def execute(self, work: Work) -> Records:
        running: dict[Future[BatchResult | Lost], Batch] = {}
        with ThreadPoolExecutor(self.jobs) as pool:

            def start(batch: Batch) -> None:
                running[pool.submit(self._computed, batch, work.journals)] = batch

            for batch in work.batches(self.jobs):
                start(batch)
            try:
                while running:
                    done = next(as_completed(running))
                    batch, answer = running.pop(done), done.result()
                    if isinstance(answer, BatchResult):
                        yield work.keep(batch, answer)
                    elif len(batch.seeds) > 1:
                        for single in batch.single():
                            start(single)
                    else:
                        yield work.give_up(batch, answer)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in self._processes:
                    process.kill()

    def _computed(self, batch: Batch, journals: Path) -> BatchResult | Lost:
        """The answer of a process that computes the batch; Lost if it died."""
        with tempfile.TemporaryDirectory() as folder:
            task, place = Path(folder) / "task", Path(folder) / "answer"
            task.write_bytes(pickle.dumps((batch, journals)))
            process = subprocess.Popen([*self._prefix, sys.executable, __file__, str(task), str(place)])
            self._processes.append(process)
            code = process.wait()
            if code or not place.exists():
                return Lost(f"the process that computed it ended with code {code}")
            answer: BatchResult = pickle.loads(place.read_bytes())
            return answer


if __name__ == "__main__":
    task, place = map(Path, sys.argv[1:])
    place.write_bytes(pickle.dumps(compute_batch(*pickle.loads(task.read_bytes()))))
