"""scripts/cluster itself: what a test on a real cluster relies on."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "scripts/lib"))

from cluster import arguments, programs  # noqa: E402
from image import archive  # noqa: E402

NAME = f"test{os.getpid()}"


def cluster(*words, name=NAME, code=0):
    done = subprocess.run([ROOT / "scripts/cluster", *words, "--name", name], capture_output=True, text=True, timeout=1200)
    if done.returncode != code:
        raise AssertionError(f"scripts/cluster {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def kubectl(*words, name=NAME, text_in=None):
    path = cluster("kubeconfig", name=name).strip()
    done = subprocess.run(["kubectl", "--kubeconfig", path, *words], input=text_in, capture_output=True, text=True,
                          timeout=180)
    if done.returncode != 0:
        raise AssertionError(f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def pod(name, *arguments_of_probe, node=None, **spec):
    container = {"name": "probe", "image": "probe:1", "imagePullPolicy": "Never", "args": list(arguments_of_probe),
                 **spec.pop("container", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 0,
                     **({"nodeName": node} if node else {}), **spec}}


def create(*objects, name=NAME):
    kubectl("apply", "-f", "-", name=name, text_in=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def wait_ready(*pods, name=NAME):
    kubectl("wait", "--for=condition=Ready", "--timeout=180s", *(f"pod/{each}" for each in pods), name=name)


def container_of(name):
    """The identity of the pod's container that runs, or nothing."""
    status = json.loads(kubectl("get", "pod", name, "-o", "json"))["status"].get("containerStatuses", [{}])[0]
    return status.get("containerID") if "running" in status.get("state", {}) else None


def wait_restarted(name, before, seconds=300):
    """Until another container than `before` runs in the pod. Their number says nothing: a node that comes back begins to count
    anew, and may need more than one go."""
    deadline = time.monotonic() + seconds
    while container_of(name) in (None, before):
        if time.monotonic() > deadline:
            raise AssertionError(f"{name} was not started again within {seconds} s\n{kubectl('describe', 'pod', name)}")
        time.sleep(0.5)


def build_probe(folder):
    program = folder / "probe"
    subprocess.run(["cc", "-static", "-Os", "-s", "-o", program, HERE / "probe.c"], check=True)
    archive.write(folder / "probe.tar", [archive.Layer().file("probe", program.read_bytes(), 0o755)], "probe:1",
                  entrypoint=["/probe"])


def setUpModule():
    global folder
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-cluster-"))
    build_probe(folder)
    cluster("up", "--nodes", "3")
    cluster("image", "load", str(folder / "probe.tar"))
    create(*(pod(f"serve-{number}", "serve", "8080", node=f"node-{number}") for number in (1, 2, 3)))
    wait_ready("serve-1", "serve-2", "serve-3")


def tearDownModule():
    cluster("down")
    shutil.rmtree(folder)


class Cluster(unittest.TestCase):
    def test_a_service_answers_everywhere(self):
        create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hello"},
                "spec": {"selector": {"app": "serve-1"}, "ports": [{"port": 80, "targetPort": 8080}]}})
        address = kubectl("get", "service", "hello", "-o", "jsonpath={.spec.clusterIP}")
        self.assertEqual(self.ask_until_answered(address), "hello\n", "from this machine")
        for number in (1, 2):  # its own pod too
            self.assertEqual(kubectl("exec", f"serve-{number}", "--", "/probe", "get", address, "80"), "hello\n")
        self.assertEqual(kubectl("logs", "serve-1"), "serving\n")

    def ask_until_answered(self, address):
        for _ in range(1000):
            done = subprocess.run([folder / "probe", "get", address, "80"], capture_output=True, text=True, timeout=180)
            if done.returncode == 0:
                return done.stdout
            time.sleep(0.1)
        self.fail(done.stderr)

    def test_pods_do_not_reach_beyond_this_machine(self):
        with self.assertRaisesRegex(AssertionError, "unreachable"):
            kubectl("exec", "serve-1", "--", "/probe", "get", "192.0.2.77", "80")

    def test_a_projected_token_of_our_audience(self):
        create(pod("token", "serve", "8080",
                   container={"volumeMounts": [{"name": "token", "mountPath": "/token"}]},
                   volumes=[{"name": "token", "projected": {"sources": [
                       {"serviceAccountToken": {"audience": "ratoon", "path": "it", "expirationSeconds": 600}}]}}]))
        wait_ready("token")
        token = kubectl("exec", "token", "--", "/probe", "show", "/token/it")
        for audience, expected in (("ratoon", True), ("another", None)):
            review = json.loads(kubectl("create", "-o", "json", "-f", "-", text_in=json.dumps({
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                "spec": {"token": token, "audiences": [audience]}})))
            self.assertEqual(review["status"].get("authenticated"), expected, review["status"])
        self.assertEqual(token.count("."), 2)

    def test_a_killed_node_is_gone_at_once_and_no_other_one(self):
        group = f"ratoon/{NAME}/nodes/"
        stay = {"containerd", "kubelet", "containerd-shim", "pause", "probe"}  # others, as iptables and runc, end by themselves
        dying = machine.processes_in(group + "node-3")
        others = [pid for pid, name in machine.processes_in(group + "node-1").items() if name in stay]
        self.assertLessEqual(stay, set(dying.values()))
        self.assertGreaterEqual(len(others), len(stay))
        address = kubectl("get", "pod", "serve-3", "-o", "jsonpath={.status.podIP}")
        container, began = container_of("serve-3"), time.time()
        self.assertIsNotNone(container)
        said = cluster("node", "kill", "node-3")
        now = time.time()
        self.assertEqual([name for pid, name in dying.items() if machine.is_running(pid)], [])
        killed_at = int(said.split()[-1]) / 1000
        self.assertTrue(int(began * 1000) / 1000 <= killed_at <= now, (began, killed_at, now))
        self.assertTrue(all(machine.is_running(pid) for pid in others))
        with self.assertRaises(subprocess.TimeoutExpired, msg="a dead node refuses nothing: it is silent"):
            subprocess.run([folder / "probe", "get", address, "8080"], timeout=1)
        self.assertIn("is dead already", cluster("node", "kill", "node-3", code=1))
        self.assertRegex(cluster("node", "list"), r"node-3 .*dead")

        cluster("node", "add", "late")  # it has the image that was loaded before it came
        create(pod("serve-late", "serve", "8080", node="late"))
        cluster("node", "add", "node-3")
        wait_ready("serve-late")
        wait_restarted("serve-3", container)
        wait_ready("serve-3")
        cluster("node", "remove", "late")
        self.assertNotIn("late", kubectl("get", "nodes"))
        restarts = kubectl("get", "pod", "serve-1", "serve-2", "-o",
                           "jsonpath={.items[*].status.containerStatuses[0].restartCount}")
        self.assertEqual(restarts, "0 0")

    def test_an_image_whose_layer_takes_a_file_away(self):
        below = archive.Layer().file("probe", (folder / "probe").read_bytes(), 0o755).file("gone", b"1").file("there", b"2")
        archive.write(folder / "layered.tar", [below, archive.Layer().file(".wh.gone", b"")], "layered:1", entrypoint=["/probe"])
        cluster("image", "load", str(folder / "layered.tar"))
        create(pod("layered", "serve", "8080", container={"image": "layered:1"}))
        wait_ready("layered")
        self.assertEqual(kubectl("exec", "layered", "--", "/probe", "show", "/there"), "2")
        with self.assertRaisesRegex(AssertionError, "exit code 1"):
            kubectl("exec", "layered", "--", "/probe", "show", "/gone")

    def test_a_new_image_of_the_same_name_replaces_the_old_one(self):
        program = ("probe", (folder / "probe").read_bytes(), 0o755)
        for word in (b"old", b"new"):
            archive.write(folder / "renewed.tar", [archive.Layer().file(*program), archive.Layer().file("word", word)],
                          "renewed:1", entrypoint=["/probe"])
            cluster("image", "load", str(folder / "renewed.tar"))
            create(pod(f"renewed-{word.decode()}", "serve", "8080", node="node-2", container={"image": "renewed:1"}))
            wait_ready(f"renewed-{word.decode()}")
            self.assertEqual(kubectl("exec", f"renewed-{word.decode()}", "--", "/probe", "show", "/word"), word.decode())

    def test_a_second_cluster_comes_and_goes_without_a_trace(self):
        second, before = f"{NAME}b", machine.traces()
        self.addCleanup(cluster, "down", name=second)
        cluster("up", "--nodes", "1", name=second)
        slot = self.slot_of(second)
        cluster("image", "load", str(folder / "probe.tar"), name=second)
        create(pod("serve", "serve", "8080"), name=second)
        wait_ready("serve", name=second)
        self.assertNotEqual(machine.left_by(second, slot, before), [], "the test would not see what is left")
        cluster("down", name=second)
        self.assertEqual(machine.left_by(second, slot, before), [])
        self.assertIn("is not there", cluster("down", name=second))
        self.assertEqual(kubectl("exec", "serve-1", "--", "/probe", "get", "127.0.0.1", "8080"), "hello\n")

    def test_a_half_made_cluster_is_removed(self):
        third, before = f"{NAME}c", machine.traces()
        self.addCleanup(cluster, "down", name=third)
        start = subprocess.Popen([ROOT / "scripts/cluster", "up", "--name", third], stdout=subprocess.PIPE, text=True)
        for line in start.stdout:
            if "API server answers" in line:
                break
        start.send_signal(signal.SIGKILL)
        start.communicate()
        self.assertIn("not whole", cluster("up", name=third, code=1))
        slot = self.slot_of(third)
        cluster("down", name=third)
        self.assertEqual(machine.left_by(third, slot, before), [])

    def slot_of(self, name):
        return int(re.search(r"https://10\.(\d+)\.", pathlib.Path(cluster("kubeconfig", name=name).strip()).read_text())[1])


class Refusals(unittest.TestCase):
    def test_each_in_one_sentence(self):
        for code, words in ((2, ["start"]), (2, ["up", "--nodes", "none"]), (2, ["image", "load"]), (2, ["node"]),
                            (1, ["node", "kill", "node-9"]), (1, ["node", "add", "node-1"]),
                            (1, ["image", "load", "no-such.tar"]), (2, ["node", "add", "Not_A_Name"])):
            said = cluster(*words, code=code)
            self.assertRegex(said, r"\Acluster: [^\n]*\. Next: [^\n]*\n\Z")

    def test_nothing_can_be_asked_of_a_cluster_that_is_not_there(self):
        for words in (["status"], ["kubeconfig"], ["node", "list"], ["node", "add"],
                      ["image", "load", str(folder / "probe.tar")]):
            self.assertIn("Next: scripts/cluster up", cluster(*words, name="absent", code=1))


if __name__ == "__main__":
    programs.extend_path(arguments.cache_folder())
    lacking = programs.missing() + [name for name in ("cc", "kubectl") if shutil.which(name) is None]
    if os.geteuid() != 0:
        print("SKIPPED: a cluster needs root")
        sys.exit(77)
    if lacking:
        print(f"SKIPPED: {' '.join(lacking)} is not here; scripts/setup installs it")
        sys.exit(77)
    unittest.main()
