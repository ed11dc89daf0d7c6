# On a real cluster of this machine, scripts/cluster. Each skips where there is no root or no servers.
ratoon_python_test(cluster/cluster_test TIMEOUT 240)
