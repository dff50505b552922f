"""A cluster of processes on this machine, for tests."""

import contextlib
import logging

import distributed


@contextlib.contextmanager
def local_cluster(workers=2, threads=1, **options):
    """Start a cluster and yield a client; both are closed afterwards, and what Distributed logs meanwhile is not shown.

    Workers print a traceback when their scheduler closes before they do.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    options = {"silence_logs": logging.CRITICAL, "dashboard_address": ":0", **options}
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=threads, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
