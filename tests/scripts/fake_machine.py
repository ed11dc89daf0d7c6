"""A machine made of stand-ins: a PATH with a few real tools and the fakes that a test puts there, and an empty cache."""
import hashlib
import os
import shutil
import subprocess
import tempfile

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL_TOOLS = (
    "awk bash cat chmod cut date df dirname basename env find flock grep head id kill ls mkdir mktemp mv nice nproc od "
    "python3 rm sed sha256sum sleep sort tail touch tr uname wc"
).split()


class FakeMachine:
    def __init__(self, test):
        self.root = tempfile.mkdtemp(prefix="ratoon-scripts-")
        test.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.bin = os.path.join(self.root, "bin")
        self.cache = os.path.join(self.root, "cache", "ratoon")
        self.calls_path = os.path.join(self.root, "calls")
        os.mkdir(self.bin)
        for tool in REAL_TOOLS:
            self.use_real(tool)
        self.environment = {
            "PATH": self.bin,
            "HOME": self.root,
            "XDG_CACHE_HOME": os.path.dirname(self.cache),
            "RATOON_OS_RELEASE": self.write("os-release", 'ID=debian\nVERSION_ID="12"\n'),
            "LC_ALL": "C.UTF-8",
        }
        self.fake("apt-get", "exit 0")
        self.installed()

    def use_real(self, tool):
        found = os.path.realpath(shutil.which(tool)) if tool != "python3" else os.path.realpath(os.sys.executable)
        link = os.path.join(self.bin, tool)
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(found, link)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def fake(self, tool, body):
        """A stand-in that notes how it was called and then runs `body` (bash)."""
        path = os.path.join(self.bin, tool)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "w") as file:
            file.write(f'#!{shutil.which("bash")}\necho "{tool} $*" >>"{self.calls_path}"\n{body}\n')
        os.chmod(path, 0o755)

    def remove(self, tool):
        os.unlink(os.path.join(self.bin, tool))

    def installed(self, *missing):
        """dpkg knows every package of the list except `missing`."""
        names = [name for name in listed_packages() if name not in missing]
        lines = "".join(f"installed {name}\n" for name in names)
        listing = self.write("dpkg-installed", lines)
        self.fake("dpkg-query", f'cat "{listing}"')
        return listing

    def with_packages(self):
        """What reads exports in a test, and what compiles ratoon for Python, is there already. Returns the Python of that."""
        for name in ("readers", "python"):
            with open(os.path.join(REPOSITORY, f"scripts/packages/{name}.txt"), "rb") as file:
                pin = hashlib.sha256(file.read()).hexdigest()[:32]
            self.write(f"cache/ratoon/{name}-{pin}/.ratoon-complete", pin + "\n")
        python = self.write(f"cache/ratoon/{name}-{pin}/bin/python3", "#!/bin/sh\n")  # which imports everything
        os.chmod(python, 0o755)
        return python

    def calls(self, tool):
        if not os.path.exists(self.calls_path):
            return []
        with open(self.calls_path) as file:
            return [line[len(tool) + 1 :].strip() for line in file if line.startswith(tool + " ")]

    def run(self, *command, repository=REPOSITORY, **environment):
        command = [os.path.join(repository, command[0]), *command[1:]]
        return subprocess.run(
            command,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=180,
        )

    def leftovers(self):
        if not os.path.isdir(self.cache):
            return []
        return [name for name in os.listdir(self.cache) if name.startswith(".partial-")]


def listed_packages():
    with open(os.path.join(REPOSITORY, "scripts/packages/debian.txt")) as file:
        return [line.split("|")[0].strip() for line in file if not line.startswith("#")]


def assert_sentence(test, result, *words):
    """It failed with one sentence that holds these words and names the next command."""
    test.assertNotEqual(result.returncode, 0, result.stdout)
    last = result.stderr.strip().splitlines()[-1] if result.stderr.strip() else ""
    for word in words:
        test.assertIn(word, last, result.stdout + result.stderr)
    test.assertIn("Next: ", last)
