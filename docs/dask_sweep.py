"""Runs a sweep of `foretell` on a Dask cluster: every worker takes shards, and the last step joins them.

Needs `pip install 'dask[distributed]'`, the program on every worker, and a directory that all of them
see. A shard that a worker loses is done again by another; it goes on where its journal ends. The
program ends with its worker, whatever ends that: its standard input is a pipe from the worker.

    python dask_sweep.py SWEEP.toml DIR                              # a cluster on this machine
    python dask_sweep.py SWEEP.toml DIR --scheduler tcp://HOST:8786  # one that is there
"""

import argparse
import os
import subprocess
import threading

from dask.distributed import Client, LocalCluster, as_completed


def run_shard(program: str, sweep: str, directory: str, shard: int, of: int) -> int:
    """One thread a shard: Dask decides how many shards a worker does at once."""
    command = [program, "sweep", sweep, "-o", directory]
    command += ["--shard", f"{shard}/{of}", "--jobs", "1", "--resume"]
    command += ["--with-parent", "--wait", "60"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as running:
        errors = threading.Thread(target=lambda: messages.append(running.stderr.read()))
        messages: list[str] = []
        errors.start()
        running.stdout.read()  # standard input stays open until the shard is done
        errors.join()
        status = running.wait()
    if status != 0:
        raise RuntimeError(f"shard {shard}/{of}: {messages[0]}")
    return shard


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweep")
    parser.add_argument("directory")
    parser.add_argument("--shards", type=int, default=0, help="default: ten for each worker")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="of a cluster on this machine")
    parser.add_argument("--scheduler", help="address of a cluster that is there")
    parser.add_argument("--program", default="foretell")
    arguments = parser.parse_args()

    local = None
    if arguments.scheduler is None:
        local = LocalCluster(
            n_workers=arguments.workers, threads_per_worker=1, dashboard_address=None
        )
    with Client(arguments.scheduler or local) as client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        of = arguments.shards or 10 * workers
        futures = [
            client.submit(
                run_shard,
                arguments.program,
                os.path.abspath(arguments.sweep),
                os.path.abspath(arguments.directory),
                shard,
                of,
                pure=False,
                retries=3,
            )
            for shard in range(1, of + 1)
        ]
        for done, future in enumerate(as_completed(futures), start=1):
            print(f"shard {future.result()} ({done} of {of}) on {workers} workers", flush=True)
    if local is not None:
        local.close()
    subprocess.run([arguments.program, "sweep", "merge", arguments.directory], check=True)


if __name__ == "__main__":
    main()
