"""What the tests of the chart share: its objects as `helm template` makes them."""

import io
import shutil
import subprocess
import tarfile

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
