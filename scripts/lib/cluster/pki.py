"""The cluster's certificate authority, certificates, the key of service accounts, and kubeconfig files."""
import concurrent.futures
import json

from .programs import run

_DAYS = "30"


# Files of a node with such a name would overwrite those of a part of the cluster.
RESERVED = ("ca", "admin", "apiserver", "controller-manager", "proxy", "scheduler", "service-accounts")


def make_authority(cluster):
    cluster.pki.mkdir(mode=0o700)
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
        cluster.pki / "ca.key", "-out", cluster.pki / "ca.pem", "-subj", f"/CN=cluster {cluster.name}", "-days", _DAYS)


def make_certificate(cluster, file, subject, names=()):
    """`names` are DNS:... and IP:... of a server; without them it is a client's."""
    stem, usage = cluster.pki / file, "serverAuth" if names else "clientAuth"
    extensions = f"extendedKeyUsage={usage}\n" + (f"subjectAltName={','.join(names)}\n" if names else "")
    stem.with_suffix(".ext").write_text(extensions)
    run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", stem.with_suffix(".key"), "-out", stem.with_suffix(".csr"), "-subj", subject)
    # A serial number of its own: two certificates that are made at once would otherwise take the same one from openssl's file.
    run("openssl", "x509", "-req", "-in", stem.with_suffix(".csr"), "-CA", cluster.pki / "ca.pem", "-CAkey",
        cluster.pki / "ca.key", "-set_serial", f"0x{_serial()}", "-out", stem.with_suffix(".pem"), "-days", _DAYS,
        "-extfile", stem.with_suffix(".ext"))


def _serial():
    with open("/dev/urandom", "rb") as source:
        return "00" + source.read(15).hex()


def make_all(cluster, plan):
    make_authority(cluster)
    server_names = ["DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc",
                    "DNS:kubernetes.default.svc.cluster.local", "IP:127.0.0.1",
                    f"IP:{plan.machine}", f"IP:{plan.first_service}"]
    wanted = [("apiserver", "/CN=kube-apiserver", server_names),
              ("apiserver-client", "/O=system:masters/CN=kube-apiserver-kubelet-client", ()),
              ("admin", "/O=system:masters/CN=admin", ()),
              ("controller-manager", "/CN=system:kube-controller-manager", ()),
              ("scheduler", "/CN=system:kube-scheduler", ()),
              ("proxy", "/CN=system:kube-proxy", ())]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(make_certificate, cluster, *words) for words in wanted]
        jobs.append(pool.submit(run, "openssl", "genrsa", "-out", cluster.pki / "service-accounts.key", "2048"))
        for job in jobs:
            job.result()
    for name in ("admin", "controller-manager", "scheduler", "proxy"):
        write_kubeconfig(cluster, plan, name, cluster.kubeconfig if name == "admin" else cluster.pki / f"{name}.kubeconfig")


def make_node_certificates(cluster, plan, node, address):
    make_certificate(cluster, f"{node}-client", f"/O=system:nodes/CN=system:node:{node}")
    make_certificate(cluster, f"{node}-server", f"/CN={node}", (f"DNS:{node}", f"IP:{address}"))
    write_kubeconfig(cluster, plan, f"{node}-client", cluster.pki / f"{node}.kubeconfig")


def node_files(cluster, node):
    made = [cluster.pki / f"{node}-{kind}.{ending}" for kind in ("client", "server") for ending in ("ext", "key", "csr", "pem")]
    return [*made, cluster.pki / f"{node}.kubeconfig"]


def write_kubeconfig(cluster, plan, user, path):
    """JSON is YAML too."""
    document = {
        "apiVersion": "v1", "kind": "Config", "current-context": cluster.name, "preferences": {},
        "clusters": [{"name": cluster.name, "cluster": {"server": plan.server,
                                                       "certificate-authority": str(cluster.pki / "ca.pem")}}],
        "users": [{"name": user, "user": {"client-certificate": str(cluster.pki / f"{user}.pem"),
                                          "client-key": str(cluster.pki / f"{user}.key")}}],
        "contexts": [{"name": cluster.name, "context": {"cluster": cluster.name, "user": user}}],
    }
    path.write_text(json.dumps(document, indent=2) + "\n")
    path.chmod(0o600)
