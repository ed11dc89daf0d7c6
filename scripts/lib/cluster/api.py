"""Requests to the cluster's API server, as its administrator."""
import json
import ssl
import time
import urllib.error
import urllib.request

from .programs import tail
from .speech import Stop


class Api:
    def __init__(self, cluster, plan):
        self.server = plan.server
        self.context = ssl.create_default_context(cafile=str(cluster.pki / "ca.pem"))
        self.context.load_cert_chain(str(cluster.pki / "admin.pem"), str(cluster.pki / "admin.key"))
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                  urllib.request.HTTPSHandler(context=self.context))

    def request(self, method, path, body=None, kind="application/json"):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, method=method, data=data, headers={"Content-Type": kind})
        with self.opener.open(request, timeout=60) as reply:
            return reply.read()

    def get(self, path):
        return json.loads(self.request("GET", path))

    def is_ready(self):
        try:
            self.request("GET", "/readyz")
            self.request("GET", "/api/v1/namespaces/default")
            return True
        except OSError:  # urllib's errors are of this kind too
            return False

    def ready_nodes(self):
        """{name: the time of its kubelet's last report}"""
        try:
            nodes = self.get("/api/v1/nodes")["items"]
        except OSError:
            return {}
        return {node["metadata"]["name"]: condition["lastHeartbeatTime"] for node in nodes
                for condition in node["status"].get("conditions", [])
                if condition["type"] == "Ready" and condition["status"] == "True" and not _is_tainted(node)}

    def forget_node(self, node):
        try:
            self.request("DELETE", f"/api/v1/nodes/{node}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise


def _is_tainted(node):
    return any(taint["key"] in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
               for taint in node["spec"].get("taints", []))


def wait_for(what, is_there, seconds, logs=()):
    deadline = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > deadline:
            said = "\n".join(f"  {log}:\n{tail(log)}" for log in logs)
            raise Stop(f"{what} did not come within {seconds} s\n{said}\n", "read the logs above, then scripts/cluster down")
        time.sleep(0.1)
