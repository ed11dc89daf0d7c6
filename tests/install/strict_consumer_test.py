"""README's program and every public header compile for a user who takes warnings for errors: GCC and Clang, C++20 and C++23,
without a word. Each public struct is written with the first of its members alone, as users write options."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RATOON_BUILD_DIR"])
PUBLIC = (ROOT / "base/include", ROOT / "agent/include")
COMPILERS = (("g++-12", "g++"), ("clang++-19", "clang++"))
FLAGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O0", "-c")

# What README leaves to the reader: a model and its data.
PRELUDE = """
struct NetImpl : torch::nn::Module {
  NetImpl() { layer = register_module("layer", torch::nn::Linear(64, 10)); }
  torch::Tensor forward(const torch::Tensor& x) { return torch::log_softmax(layer->forward(x), 1); }
  torch::nn::Linear layer{nullptr};
};
TORCH_MODULE(Net);
std::pair<torch::Tensor, torch::Tensor> batch_of(const std::vector<ratoon::Slot>& slots);
"""


def torch_flags():
    """How this build finds LibTorch; None: it has none."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        found = [words[i:i + 2] for i, word in enumerate(words) if word == "-isystem" and "torch" in words[i + 1]]
        if found:
            return [word for pair in found for word in pair] + [word for word in words if word.startswith("-DUSE_")]
    return None


def first_member(body):
    """A struct's first data member and a value for it: ("rank", "0"); None where something else comes first."""
    for line in body.splitlines():
        line = re.sub(r"//.*", "", line).strip()
        if not line:
            continue
        bare = line
        while re.search(r"<[^<>]*>", bare):
            bare = re.sub(r"<[^<>]*>", "", bare)
        found = re.fullmatch(r"(?:[\w:]+ )*[\w:]+\*? (\w+)(?:\{.*\}| = (.*))?;", bare)
        is_data = found and not re.match(r"(using|friend|static|template|enum|struct)\b", bare)
        return (found[1], found[2] or "{}") if is_data else None
    return None


def structs_of(header):
    """(namespace, name, first member, a value) of each struct that a user may write with braces."""
    namespaces = []  # but for those of forward declarations, whose end has no comment
    lines = header.read_text().splitlines()
    for i, line in enumerate(lines):
        if (found := re.fullmatch(r"namespace ([\w:]+) \{", line)) and f"}}  // namespace {found[1]}" in lines[i:]:
            namespaces.append(found[1])
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif (found := re.fullmatch(r"struct (\w+) \{", line)) and not lines[i - 1].startswith("template"):
            end = lines.index("};", i)
            body = "\n".join(lines[i + 1:end])
            if not re.search(rf"^  (explicit )?{found[1]}\(", body, re.M) and (member := first_member(body)):
                yield "::".join(namespaces), found[1], *member


def program(has_torch):
    headers = [path for folder in PUBLIC for path in sorted(folder.rglob("*.h"))
               if has_torch or not re.search(r"ratoon/torch(\.h|/)", str(path))]
    names = [str(path.relative_to(folder)) for folder in PUBLIC for path in headers if folder in path.parents]
    lines = [f"#include <{name}>" for name in names]
    written = [struct for header in headers for struct in structs_of(header)]
    lines += [f"namespace {where} {{ [[maybe_unused]] static const {name} written_{i}{{.{member} = {value}}}; }}"
              for i, (where, name, member, value) in enumerate(written)]
    if has_torch:
        code = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
        begin = code.index("int main")
        lines += [code[:begin], PRELUDE, code[begin:]]
    return "\n".join(lines) + "\n"


class StrictConsumer(unittest.TestCase):
    def compile(self, compiler, standard, torch):
        folder = BUILD / "strict-consumer"
        folder.mkdir(exist_ok=True)
        source = folder / f"{compiler}-{standard}.cpp"
        text = program(torch is not None)
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        launcher = [shutil.which("ccache")] if shutil.which("ccache") else []
        done = subprocess.run([*launcher, compiler, f"-std={standard}", *FLAGS, *(f"-I{path}" for path in PUBLIC), *(torch or []),
                               "-o", source.with_suffix(".o"), source], capture_output=True, text=True, cwd=ROOT)
        source.with_suffix(".o").unlink(missing_ok=True)
        return "" if done.returncode == 0 else f"{compiler} -std={standard}:\n{done.stderr[:4000]}"

    def test_compiles_without_a_word(self):
        compilers = [next(filter(shutil.which, names), None) for names in COMPILERS]
        torch = torch_flags()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(self.compile, compiler, standard, torch)
                    for compiler in compilers if compiler for standard in ("c++20", "c++23")]
        self.assertTrue(runs, "there is neither GCC nor Clang")
        self.assertEqual("\n".join(filter(None, (run.result() for run in runs))), "")

    def test_a_struct_is_found_with_its_first_member(self):
        self.assertIn(("ratoon", "StreamOptions", "samples", "0"),
                      list(structs_of(ROOT / "agent/include/ratoon/stream_options.h")))
        self.assertIn(("ratoon::torch", "DeviceDatasetOptions", "device", "at::kCPU"),
                      list(structs_of(ROOT / "agent/include/ratoon/torch/device_dataset.h")))


if __name__ == "__main__":
    unittest.main()
