"""peer_cluster.py RESULT: the Job controller of Kubernetes on a bed as bench_cluster's: as many Jobs of as many pods. The
limits of its calls are raised; it has five workers, as it comes."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from bench_cluster import JOBS, MEMBERS, Bed, do_by_turns, row, wait_for, write  # noqa: E402
from ports import take_port  # noqa: E402

JOBS_PATH = "/apis/batch/v1/namespaces/default/jobs"


class JobBed(Bed):
    jobs_path = JOBS_PATH

    def start_controller(self, kubeconfig):
        return self.run("job-controller", "kube-controller-manager", kubeconfig, "--controllers=job-controller",
                        "--leader-elect=false", "--kube-api-qps=5000", "--kube-api-burst=5000",
                        f"--secure-port={take_port()}", f"--cert-dir={self.server.folder}/job-controller")


def job(name):
    container = {"name": "trainer", "image": "script:1", "command": ["python3", "train.py"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"parallelism": MEMBERS, "completions": MEMBERS,
                     "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}


def start_all(bed):
    cpu, of_servers, began = bed.cpu_seconds(), bed.server_cpu_seconds(), time.monotonic()
    do_by_turns(bed.server, [("POST", JOBS_PATH, job(f"group-{n}")) for n in range(JOBS)])
    made = bed.wait_for_pods()
    wait_for("running pods", lambda: all(map(is_ready, bed.jobs())), 1)
    formed = time.monotonic() - began
    return row("start", made - began, whose="job_controller", items_per_second=JOBS * MEMBERS / (made - began), jobs=JOBS,
               members=MEMBERS, formed_seconds=formed,
               operator_cpu_seconds=bed.cpu_seconds() - cpu, memory_bytes=bed.memory_bytes(),
               server_cpu_seconds=bed.server_cpu_seconds() - of_servers)


def is_ready(one):
    return one.get("status", {}).get("ready", 0) == MEMBERS


if __name__ == "__main__":
    with JobBed() as the_bed:
        write(sys.argv[1], [start_all(the_bed)])
