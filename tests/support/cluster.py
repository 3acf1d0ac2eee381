"""A local dask cluster of two worker processes; prints its address and their ids, then waits."""

import json
import os
import sys

if __name__ == "__main__":
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        print(json.dumps({"address": cluster.scheduler_address, "pids": pids}), flush=True)
        sys.stdin.read()
