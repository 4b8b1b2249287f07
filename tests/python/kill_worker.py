"""Runs `docs/dask_sweep.py` on two workers, and kills one of them with its first shard half done.

    python kill_worker.py DASK_SWEEP.py ARGUMENTS...
"""

import subprocess
import sys
import time

import psutil


def shards(of: psutil.Process) -> list[psutil.Process]:
    """The sweeps below a process."""
    found = []
    for process in of.children(recursive=True):
        try:
            if "--shard" in process.cmdline():
                found.append(process)
        except psutil.Error:
            pass
    return found


def main() -> None:
    script = subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
    tree = psutil.Process(script.pid)
    until = time.monotonic() + 60
    while len(running := shards(tree)) < 2:
        assert time.monotonic() < until and script.poll() is None, "two shards run side by side"
        time.sleep(0.02)
    time.sleep(0.3)
    child = running[0]
    child.parent().kill()
    # the shard is free as soon as its process has ended
    child.wait(timeout=10)
    printed, _ = script.communicate(timeout=120)
    assert script.returncode == 0, printed
    print(printed, end="")


if __name__ == "__main__":
    main()
