"""Kubelets that also run the reader pods of `kubectl ratoon`, as processes of this machine, and serve their logs. Used by
kubectl_reader_test."""

import datetime
import http.server
import os
import re
import ssl
import subprocess
import threading
import urllib.parse

from kubelet_stand_in import BIN, NODES, PODS, KubeletStandIn

READERS = f"{PODS}?labelSelector=app.kubernetes.io/managed-by%3Dkubectl-ratoon"
PATIENCE = 180


def expanded(text, variables):
    """What kubelet makes of a container's argument."""
    def value(found):
        return "$" if found[0] == "$$" else variables.get(found[1], found[0])
    return re.sub(r"\$\$|\$\(([^)]*)\)", value, text)


def node_named_by(pod):
    """The node that the pod's affinity requires or prefers."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    named = [*terms, *(each["preference"] for each in preferred)]
    return named[0]["matchFields"][0]["values"][0] if named else NODES[0]


def begins_in(second):
    """The second of a timestamp, which is as exact as a client asks for a log."""
    return second[:19]


class Log:
    """The lines of a container's log, each with its time, and whether it can still grow."""

    def __init__(self):
        self.lines, self.has_ended = [], False
        self.given = 0  # how many lines were sent to a client, by any stream
        self.changed = threading.Condition()

    def add(self, line):
        """The line as bytes, with its newline. A carriage return in front of the newline is part of the line."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        with self.changed:
            self.lines.append(now.encode() + b" " + line)
            self.changed.notify_all()

    def end(self):
        with self.changed:
            self.has_ended = True
            self.changed.notify_all()


class LogServer:
    """Serves the logs as a kubelet does. If `lines_max` is a number, each stream is cut after so many lines that no stream
    before it had, within the next line. If `ends_cleanly`, it ends there like a complete reply."""

    def __init__(self, folder):
        self.logs, self.lines_max, self.ends_cleanly = {}, None, False
        served = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                served.serve(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, handler):
        url = urllib.parse.urlparse(handler.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        log = self.logs[url.path.split("/")[3]]
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        at, sent = 0, 0
        while True:
            with log.changed:
                log.changed.wait_for(lambda: len(log.lines) > at or log.has_ended, PATIENCE)
                news, has_ended = log.lines[at:], log.has_ended
            for line in news:
                at += 1
                if begins_in(line.decode(errors="replace")) < begins_in(query.get("sinceTime", "")):
                    continue
                is_cut = sent == self.lines_max and at > log.given
                piece = line[:-2] if is_cut else line
                handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                if is_cut:
                    return self.cut(handler)
                sent += at > log.given
                log.given = max(log.given, at)
            handler.wfile.flush()
            if has_ended:
                handler.wfile.write(b"0\r\n\r\n")
                return None

    def cut(self, handler):
        if self.ends_cleanly:
            handler.wfile.write(b"0\r\n\r\n")
        else:
            handler.close_connection = True
            handler.connection.close()


class ReaderKubelets(KubeletStandIn):
    def __init__(self, cluster):
        self.log_server = LogServer(cluster.folder)
        self.readers = {}  # every reader pod that was seen, by its name
        self.ended_readers = set()
        self.instead = None  # a command that readers run in place of their own
        self.standing = None  # a status that readers get in place of a process
        super().__init__(cluster)

    def say_ready(self, node):
        self.cluster.patch(f"/api/v1/nodes/{node}/status", {"status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.log_server.port}}}})

    def look(self):
        super().look()
        for pod in self.cluster.get(READERS)["items"]:
            self.look_at_reader(pod)

    def look_at_reader(self, pod):
        meta, uid = pod["metadata"], pod["metadata"]["uid"]
        self.readers[meta["name"]] = pod
        if "deletionTimestamp" in meta:
            self.end(uid)
            self.cluster.server.request("DELETE", f"{PODS}/{meta['name']}",
                                        {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
        elif self.standing is not None:
            if "containerStatuses" in self.standing:
                self.place_reader(pod)  # only a kubelet tells of containers
            self.cluster.patch(f"{PODS}/{meta['name']}/status", {"status": self.standing})
        elif uid not in self.running:
            self.begin_reader(pod)
        elif self.running[uid]["log"].has_ended and uid not in self.ended_readers:
            self.ended_readers.add(uid)
            code = self.running[uid]["process"].wait()
            self.say_reader(meta["name"], "Succeeded" if code == 0 else "Failed",
                            {"terminated": {"exitCode": code if code >= 0 else 128 - code, "reason": "Ended"}})

    def say_reader(self, name, phase, state):
        self.cluster.patch(f"{PODS}/{name}/status", {"status": {"phase": phase, "containerStatuses": [
            {"name": "reader", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}]}})

    def place_reader(self, pod):
        name = pod["metadata"]["name"]
        if not pod["spec"].get("nodeName"):
            self.cluster.post(f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                         "target": {"kind": "Node", "name": node_named_by(pod)}})

    def begin_reader(self, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        self.place_reader(pod)
        container = pod["spec"]["containers"][0]
        variables = {each["name"]: each.get("value", "") for each in container["env"]}
        words = self.instead or [BIN / container["command"][0], *(expanded(word, variables) for word in container["args"])]
        log = self.log_server.logs[name] = Log()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={"HOME": os.environ.get("HOME", "/"), **variables})
        self.running[uid] = {"process": process, "told": True, "name": name, "log": log}
        self.say_reader(name, "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})
        threading.Thread(target=self.record, args=(process, log), daemon=True).start()

    @staticmethod
    def record(process, log):
        with process.stdout:
            for line in process.stdout:
                log.add(line if line.endswith(b"\n") else line + b"\n")
        process.wait()
        log.end()
