"""Prints a digest for each METHOD and BENCH: of the usual search, after one by another seed; where METHOD is empty, of
the benchmark's scores, each after those of another seed and of neighbours. `elsewhere` starts it."""

import os
import sys

from nasbench.base.foreign import guarded
from nasbench.base.streams import say
from nasbench.benchmarks import UsageError, open_benchmark
from nasbench.cli.checks.check import Failed
from nasbench.cli.checks.elsewhere import UNKNOWN, digest
from nasbench.cli.checks.methods import Trial
from nasbench.cli.checks.scores import scores
from nasbench.cli.engine.evaluations import explained
from nasbench.methods import MethodSpec

for method, bench in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    try:
        with guarded():  # what a plug-in prints is no digest
            if method:
                trial = Trial.of(method, bench)
                trial.search_by_another_seed()
                found = digest(trial.usual.asked)
            else:
                found = digest(scores(open_benchmark(bench), after_others=True))
    except UsageError:
        found = UNKNOWN
    except Failed:
        raise
    except BaseException as error:
        sys.exit(explained(error, MethodSpec.parse(method).method if method else type(open_benchmark(bench))))
    say(found)
sys.stdout.flush()
os._exit(0)  # a thread that a plug-in has left running ends, too
