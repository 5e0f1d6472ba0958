"""One thread a process: the tests run in two processes on two cores, where more threads would wait for each other."""

import os

# Before torch is imported, here and in what tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
