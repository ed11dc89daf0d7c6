"""What the tests of the chart share: its objects as `helm template` makes them."""

import base64
import io
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import programs
from programs import CHART, run

NAMESPACE = "trees"


def render(*words):
    return run("helm", "template", "ratoon", CHART, f"--namespace={NAMESPACE}", "--kube-version=1.35.0", *words)


def objects(*words):
    """{(kind, name): object}"""
    done = render(*words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {(each["kind"], each["metadata"]["name"]): each for each in programs.read_yaml(done.stdout)}


def former_chart(folder):
    """The chart before its last change. A checkout without that history has the present one in its place."""
    is_changed = run("git", "status", "--porcelain", "--", CHART).stdout != ""
    last = run("git", "log", "-1", "--format=%H", "--", CHART).stdout.strip()
    archive = subprocess.run(["git", "archive", "HEAD" if is_changed else f"{last}^", "charts/ratoon"], cwd=programs.ROOT,
                             capture_output=True)
    chart = folder / "charts" / "ratoon"
    if archive.returncode == 0:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(folder, filter="data")
    else:
        shutil.copytree(CHART, chart)
    return chart


def operators_pod(made):
    return made["Deployment", "ratoon"]["spec"]["template"]["spec"]


def without_secrets(text):
    """A certificate is made anew with each rendering."""
    return re.sub(r"^  ((ca|tls)\.(crt|key)): \S+$", r"  \1", text, flags=re.MULTILINE)


def expect_good(test, data, name):
    """As OpenSSL sees it: a server's certificate, for that name and for years, signed by that authority."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in data.items():
            pathlib.Path(folder, file).write_bytes(base64.b64decode(text))
        tls = pathlib.Path(folder, "tls.crt")
        done = run("openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", name, "-CAfile",
                   f"{folder}/ca.crt", tls)
        test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        test.assertEqual(run("openssl", "x509", "-in", tls, "-noout", "-checkend", str(5 * 365 * 86400)).returncode, 0)
        keys = {run("openssl", *words).stdout for words in (("x509", "-in", tls, "-noout", "-pubkey"),
                                                            ("pkey", "-in", f"{folder}/tls.key", "-pubout"))}
        test.assertEqual(len(keys), 1, "key and certificate belong together")
        test.assertIn("BEGIN PUBLIC KEY", keys.pop())
