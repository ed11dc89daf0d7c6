"""An installed tree of the build under test, moved after its installation, and what the build was made of."""
import os
import pathlib
import re
import shutil
import subprocess

BUILD = pathlib.Path(os.environ["RATOON_BUILD_DIR"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = SOURCE / "tests" / "install" / "consumer"
CACHE = dict(re.findall(r"^([\w.-]+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M))


def is_on(option):
    return CACHE.get(option, "OFF").upper() in ("ON", "TRUE", "1")


WITH_MDS = is_on("RATOON_WITH_MDS")
WITH_TORCH = is_on("RATOON_WITH_TORCH")
WITH_CUDA = WITH_TORCH and is_on("RATOON_WITH_CUDA")
COMPONENTS = ["agent"] + ["agent_mds"] * WITH_MDS + ["agent_torch"] * WITH_TORCH + ["agent_torch_cuda"] * WITH_CUDA


def run(*command, check=True, **more):
    """Runs a command; its output is the message if it fails against expectation."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode} of {' '.join(map(str, command))}\n{done.stdout[-6000:]}")
    return done


def configure(source, build, *words, **more):
    """cmake with this build's compiler, type and cache, so that ccache knows the files that both compile."""
    same = [f"-D{name}={CACHE[name]}" for name in
            ("CMAKE_CXX_COMPILER", "CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS", "CMAKE_CXX_FLAGS_DEBUG", "RATOON_WERROR",
             "RATOON_WITH_HTTP", "RATOON_WITH_MDS", "RATOON_WITH_TORCH", "RATOON_WITH_CUDA", "RATOON_SANITIZE",
             "RATOON_LIBTORCH_ROOT")
            if CACHE.get(name)]
    # Where Ratoon is the top project it finds these itself; the link of a sanitized library needs its flag.
    same += [f"-DCMAKE_CXX_COMPILER_LAUNCHER={CACHE['RATOON_CCACHE']}"] if "/" in CACHE.get("RATOON_CCACHE", "") else []
    link = (["-fuse-ld=mold"] if "/" in CACHE.get("RATOON_MOLD", "") else []) + sanitizer_flags()
    same.append(f"-DCMAKE_EXE_LINKER_FLAGS={' '.join(link)}")
    return run("cmake", "-S", source, "-B", build, "-G", "Ninja", *same, *words, **more)


def sanitizer_flags():
    return [f"-fsanitize={CACHE['RATOON_SANITIZE']}"] if CACHE.get("RATOON_SANITIZE") else []


def install(folder):
    """Installs the build under folder/first and moves it to folder/second, which is returned."""
    run("cmake", "--install", BUILD, "--prefix", folder / "first")
    (folder / "first").rename(folder / "second")
    return folder / "second"


def copy_of(tree, folder):
    """A copy that may lose files: hard links, so cheap."""
    shutil.copytree(tree, folder, copy_function=os.link)
    return folder


def one_line(text):
    """CMake breaks its messages into lines; tests look for sentences."""
    return re.sub(r"\s+", " ", text)
