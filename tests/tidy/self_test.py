"""Each rule of this folder can fail: tiny trees with one violation each, and the complaint that it must bring."""
import dataclasses
import json
import pathlib
import shutil
import tempfile
import unittest

import banned
import banned_test
import format_test
import headers_test
import layering_test
import links_test
import rules
from repository import Repository

_HEAD = "// What it is for.\n#pragma once\n"


def word(*pieces):
    """Words that banned_test would find here are put together."""
    return "".join(pieces)


class SelfTest(unittest.TestCase):
    def expect(self, complaints, *pieces):
        """Exactly one complaint, with these pieces in it."""
        complaints = [str(complaint) for complaint in complaints]
        self.assertEqual(len(complaints), 1, complaints)
        for piece in pieces:
            self.assertIn(piece, complaints[0])

    def expect_fine(self, complaints):
        self.assertEqual([str(complaint) for complaint in complaints], [])


class LayeringSelfTest(SelfTest):
    table = layering_test.Table()

    def includes(self, path, line, **others):
        tree = {path: line + "\n", "operator/local/members/local_cluster.h": _HEAD, "operator/api/pod.h": _HEAD,
                "base/core/clock.h": _HEAD, "agent/src/session/link/link.h": _HEAD, **others}
        return layering_test.check_includes(Repository(tree), self.table)

    def test_core_does_not_see_the_machine(self):
        self.expect(self.includes("operator/core/x.cpp", '#include "operator/local/members/local_cluster.h"'),
                    'operator/core/x.cpp:1 includes "operator/local/members/local_cluster.h"', "operator/core may see",
                    "operator/api",
                    "pass the fact in through Observation")

    def test_the_halves_do_not_see_each_other(self):
        self.expect(self.includes("operator/local/x.cpp", '#include "agent/src/session/link/link.h"'), "operator/local may see")
        self.expect(self.includes("agent/src/session/x.cpp", '#include "operator/api/pod.h"'), "agent/src/session may see")

    def test_libraries_stay_in_their_folders(self):
        for path, line in (("operator/local/x.cpp", "#include <cpprest/http_client.h>"),
                           ("cli/x.cpp", "#include <boost/asio/post.hpp>"),
                           ("agent/src/session/x.cpp", "#include <torch/torch.h>"),
                           ("operator/api/x.cpp", "#include <yaml-cpp/yaml.h>"),
                           ("agent/include/ratoon/x.h", "#include <nlohmann/json.hpp>")):
            self.expect(self.includes(path, line), f"{path}:1 includes <", "may see")

    def test_the_agent_can_do_without_http(self):
        tree = {"base/http/server.h": _HEAD}
        self.expect(self.includes("agent/src/session/engine/engine.cpp", '#include "base/http/server.h"', **tree), "is a Link")
        self.expect_fine(self.includes("agent/src/session/link/coordinator_link.cpp", '#include "base/http/server.h"', **tree))

    def test_unknown_folders_headers_and_files(self):
        self.expect(self.includes("operator/webhook/x.cpp", ""), "operator/webhook/x.cpp is in no part", "add it to PARTS")
        self.expect(self.includes("base/core/x.cpp", "#include <spdlog/spdlog.h>"), "nothing is known about it")
        self.expect(self.includes("base/core/x.cpp", '#include "clok.h"'), "there is no such file")

    def test_what_is_allowed_is_allowed(self):
        self.expect_fine(self.includes("operator/core/x.cpp", '#include <map>\n#include "operator/api/pod.h"\n'
                                       '#include "base/core/clock.h"  // #include "operator/local/members/local_cluster.h"'))

    def test_pure_parts(self):
        for code, effect in (("#include <thread>", "threads"), ("#include <fstream>", "files"),
                             ("#include <sys/socket.h>", "the system"), ("#include <filesystem>", "files"),
                             ("auto t = std::chrono::steady_clock{};", "a clock"), ("auto t = now();", "a clock"),
                             ("auto t = time(nullptr);", "a clock"), ("std::random_device d;", "a random device"),
                             ('auto* v = getenv("A");', "the environment"), ("fs::exists(path);", "files"),
                             ("void f(const Clock& clock);", "a clock"), ('#include "base/core/log.h"', "a log"),
                             ("thread_local int n;", "threads"), ('fopen("a", "r");', "files")):
            for path in ("operator/core/x.cpp", "base/contract/x.cpp", "agent/src/checkpoint/format/manifest.cpp"):
                with self.subTest(code=code, path=path):
                    self.expect(layering_test.check_purity(Repository({path: code}), self.table),
                                f"{path}:1", f"({effect})", "is pure and sees no clock")
        self.expect_fine(layering_test.check_purity(Repository({
            "operator/core/x.cpp": "#include <chrono>\nTimestamp now; // getenv()\nauto later = now + seconds(1);",
            "agent/src/checkpoint/commit/run_store.cpp": "#include <fstream>"}), self.table))

    def links(self, text):
        return layering_test.check_links(Repository({
            "operator/core/a.cpp": "", "operator/local/b.cpp": "", "cli/main.cpp": "", "cli/CMakeLists.txt": "",
            "operator/CMakeLists.txt": text}), self.table)

    def test_links(self):
        local = "ratoon_module(operator_local SOURCES local/b.cpp)\n"
        core = "ratoon_module(operator_core SOURCES core/a.cpp PUBLIC {})\n"
        self.expect(self.links(local + core.format("ratoon::operator_local")),
                    "operator/CMakeLists.txt:2 links operator_core with ratoon::operator_local", "operator/core may see")
        self.expect(self.links(core.format("cpprestsdk::cpprest")), "links operator_core with cpprestsdk::cpprest")
        self.expect(self.links(core.format("") + "if(X)\n  target_link_libraries(ratoon_operator_core PRIVATE yaml-cpp)\n"),
                    "operator/CMakeLists.txt:3 links operator_core with yaml-cpp")
        self.expect(self.links(core.format("spdlog::spdlog")), "nothing is known about it")
        self.expect(self.links("ratoon_module(operator_kube SOURCES kube.cpp core.cpp)\n"
                               "ratoon_program(x SOURCES CMakeLists.txt LIBS ratoon::operator_kube)\n"
                               "ratoon_program(y SOURCES local/b.cpp LIBS ratoon::operator_kube)\n"), "links y with")
        self.expect_fine(self.links(core.format("Threads::Threads") + "# ratoon::operator_local\n"))

    def test_dead_rules(self):
        def check(parts, files, **more):
            return layering_test.check_table(Repository(files), layering_test.Table(parts, **more))
        a, nothing = rules.Part("a"), {"third_party": {}, "impure_allowed": set()}
        self.expect(check((a, rules.Part("b")), {"a/x.h": ""}, **nothing), "a part b without a file", "remove it")
        self.expect(check((rules.Part("a", ("c",)),), {"a/x.h": ""}, **nothing), "a see c, which is no part")
        self.expect(check((a,), {"a/x.h": ""}, third_party={"zlib": rules.Package(("zlib.h",))}, impure_allowed=set()),
                    "knows zlib, which no part may see")
        self.expect(check((rules.Part("a", (), ("zlib",)),), {"a/x.h": ""},
                          third_party={"zlib": rules.Package(("zlib.h",))}, impure_allowed=set()), "does not include")
        self.expect(check((a,), {"a/x.h": ""}, third_party={}, impure_allowed={("a/x.h", "thread")}), "allows a/x.h")
        self.expect(check((rules.Part("a", target="t"),), {"a/x.h": ""}, **nothing), "no ratoon_module() makes")

    def test_circles(self):
        parts = (rules.Part("a", ("b",)), rules.Part("b", ("a",)))
        self.expect(layering_test.check_circles(layering_test.Table(parts)), "in a circle (a -> b)")


class BannedSelfTest(SelfTest):
    EXAMPLES = {
        "std::regex": "std::regex r;", "a standard distribution": "std::uniform_int_distribution<int> d;",
        "rand()": "int n = std::rand();", "an unbounded write": "sprintf(text, format);",
        "a number read without checks": "int n = std::stoi(text);",
        "a function with hidden state": "auto* t = localtime(&now);", "a shell": "std::system(command);",
        "a static object with a destructor": "void f() {\n  static std::list<int> kept;\n}",
        "fork": "const pid_t child = ::fork();",
        "volatile": "volatile int n;", "assert": "assert(n == 1);", "a detached thread": "thread.detach();",
        "new": "auto* a = new Thing(1);", "delete": "delete thing;", "malloc": "void* p = malloc(8);",
        "a capture that only a failure ends": "EXPECT_EQ(code, 0) << testing::internal::GetCapturedStderr();",
        "goto": "goto end;", "a sleep": "std::this_thread::sleep_for(pause);",
        "std::cout and friends": "std::cerr << 1;", "printing from a library": "std::printf(format);",
        "using namespace in a header": "using namespace std;", "std::getenv": "const char* v = std::getenv(name);",
        "code left out by the preprocessor": "#if 0\n#endif", "a macro": "#define ONE 1",
        "a mutex without annotations": "std::mutex mutex;",
        "a C-style cast": "auto n = (int)text.size();", "catching by value": "catch (Error error) {}",
        "an open end": "// " + word("TO", "DO") + ": later",
        "a path of one machine": 'open("' + word("/ho", "me/ann/x") + '");',
        "a package registry's host": "// see " + word("py", "pi.org"),
        "words about how the text came to be": "// " + word("Cla", "ude"),
        "a document that is not here": "// see " + word("DE", "SIGN.md"),
    }
    FINE = """// malloc(), assert( and new words are free in comments; so is std::regex.
        static_assert(true); Thing(const Thing&) = delete; auto text = "delete me, sprintf(x), rand()";
        std::snprintf(text, size, "x"); log.printf(x); rng.rand(); make_unique<Thing>(); int renew = 1;
        std::function<void(int)> f; void set(int) const; wakeup_.sleep(10); gmtime_r(&a, &b);
        auto n = 1'000'000; char c = '"'; auto raw = R"(goto assert( new)"; catch (const Error& e) {}"""

    def words(self, files):
        code, text = ([dataclasses.replace(ban, allowed={}) for ban in bans] for bans in (banned.CODE, banned.TEXT))
        return banned_test.check_words(Repository(files), code, text)

    def test_every_ban_has_an_example_that_it_finds(self):
        self.assertEqual(set(self.EXAMPLES), {ban.name for ban in banned.CODE + banned.TEXT})
        bans = {ban.name: ban for ban in banned.CODE + banned.TEXT}
        for name, code in self.EXAMPLES.items():
            with self.subTest(name):
                path = f"base/core/x{bans[name].endings[0]}"
                self.expect(self.words({path: "\n" + code}), f"{path}:", f" has {name}: ", bans[name].mend)

    def test_nothing_else_is_found(self):
        self.expect_fine(self.words({"base/core/x.cpp": self.FINE}))

    def test_an_excuse_that_nobody_needs(self):
        ban = banned.Ban("x", "x", "y", allowed={"a.cpp": "why"})
        self.expect(banned_test.check_words(Repository({"a.cpp": ""}), (ban,), ()), "allows a.cpp x", "remove that")

    def test_sizes(self):
        def check(path, text):
            return banned_test.check_sizes(Repository({path: text}), wide={})
        self.expect(check("a.cpp", "int x;\n" * 401), "a.cpp has 401 lines of 400", "split it")
        self.expect(check("a.cpp", "int x;" + " " * 105), "a.cpp:1 has 111 columns of 110", "break the line")
        self.expect(check("a.cmake", "#" * 131), "a.cmake:1 has 131 columns of 130")
        body = "  x();\n" * 70
        for head in ("int f() {", "A::A(int n) : n_(n), m_{} {", "auto f() -> std::vector<int> {", "TEST(A, B) {",
                     "struct A {\nint f() const noexcept {", "namespace a {\nvoid f(int a = 1) {"):
            with self.subTest(head):
                self.expect(check("a.cpp", f"{head}\n{body}}}\n"), "begins a function of 72 lines of 70", "name its steps")
        for head in ("namespace a {", "class A : B {", "constexpr std::array<int, 9> kTable = {", "enum class A {"):
            self.expect_fine(check("a.cpp", f"{head}\n{body}}}\n"))

    def test_names(self):
        def check(path, text=""):
            return banned_test.check_names(Repository({path: text}))
        self.expect(check("base/RunStore.h"), "base/RunStore.h is not snake_case")
        self.expect(check("a.h", "struct run_store {};"), "names a type run_store", "CamelCase")
        self.expect(check("a.h", "enum class A { kOne, TWO };"), "names an enumerator TWO", "kCamel")
        self.expect_fine(check("a.h", "struct ssl_st;\ntemplate <class t>\nenum class A : int { kOne = 1, kTwo };"))

    def test_use(self):
        def check(files):
            return banned_test.check_use(Repository({"CMakeLists.txt": "add_library(a a.cpp)", **files}),
                                         unnamed={}, unbuilt={}, made={})
        self.expect(check({"b.cpp": ""}), "b.cpp is in no CMake target", "or delete it")
        self.expect(check({"a.h": ""}), "a.h is included by nobody")
        self.expect(check({"tests/tidy/x_test.py": ""}), "ctest does not know", "register it")
        self.expect(check({"tests/unit/tests.cmake": ""}), "is not included by tests/CMakeLists.txt")
        self.expect(check({"a.cpp": "\n// see docs/no.md"}), "a.cpp:2 speaks of docs/no.md, which does not exist")
        self.expect(banned_test.check_use(Repository({}), unnamed={"a.h": ""}, unbuilt={}), "excuses a.h")
        self.expect_fine(check({"a.cpp": '#include "a.h"', "a.h": "", "tests/CMakeLists.txt": "ratoon_test(unit/b_test)\n"
                                "ratoon_test(unit/c SOURCES d.cpp)", "tests/unit/b_test.cpp": "", "tests/unit/d.cpp": ""}))


class HeadersSelfTest(SelfTest):
    table = layering_test.Table()

    def test_heads(self):
        def check(path, text):
            return headers_test.check_heads(Repository({path: text}), self.table)
        self.expect(check("base/core/a.h", "#pragma once\n"), "does not begin with a comment", "say in a sentence")
        self.expect(check("base/core/a.h", "// A.\n"), "has no #pragma once")
        self.expect(check("agent/include/ratoon/a.h", _HEAD), "shows no use", "a user's code")
        shown = "// A.\n//\n//   use(a);\n#pragma once\n"
        self.expect(check("agent/include/ratoon/a.h", shown + "#include <nlohmann/json.hpp>\n"), "includes <nlohmann")
        self.expect(check("agent/include/ratoon/a.h", shown + '#include "base/core/a.h"\n'), 'includes "base/core/a.h"')
        self.expect_fine(check("agent/include/ratoon/torch/a.h", shown + "#include <ATen/core/Tensor.h>\n"))

    def test_headers_that_lean_on_others(self):
        compiler = shutil.which("c++") or self.skipTest("there is no c++")
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {"a.h": "#pragma once\nstruct A {};\n", "b.h": "#pragma once\nA a();\n", "c.h": "struct C {};\n",
                     "x.cpp": '#include "a.h"\n#include "b.h"\n#include "c.h"\n', "unseen.h": "no C++\n"}
            for path, text in files.items():
                (root / path).write_text(text)

            def check():
                commands = {"x.cpp": [compiler, "-std=c++20", "-Werror", "-o", "x.o", "-c", str(root / "x.cpp")]}
                found = headers_test.check_alone(Repository(files), commands, set(), root, root)
                return {str(complaint).split(" ")[0]: str(complaint) for complaint in found}

            complaints = check()
            self.assertEqual(set(complaints), {"b.h", "c.h"})
            self.assertRegex(complaints["b.h"], "b.h does not compile alone: .*A.*; include what it uses")
            self.assertIn("redefinition", complaints["c.h"])
            files["b.h"] = '#include "a.h"\n' + files["b.h"]  # what passed is remembered, what changed is not
            (root / "b.h").write_text(files["b.h"])
            self.assertEqual(set(check()), {"c.h"})
            files["a.h"] = "#pragma once\n"
            (root / "a.h").write_text(files["a.h"])
            self.assertEqual(set(check()), {"b.h", "c.h"})

    def test_sources_that_are_compiled_together(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            build = root / "build"
            unity = build / "unity" / "ratoon_x" / "x_1.cpp"
            unity.parent.mkdir(parents=True)
            unity.write_text('#include "x/a.cpp"\n#include "x/b.cpp"\n')
            (build / "compile_commands.json").write_text(json.dumps(
                [{"file": str(unity), "command": f"c++ -DX -c {unity}"},
                 {"file": str(root / "y.cpp"), "command": "c++ -DY -c y.cpp"}]))
            commands, together = headers_test.read_commands(build, root)
            self.assertEqual({path: words[1] for path, words in commands.items()},
                             {"x/a.cpp": "-DX", "x/b.cpp": "-DX", "y.cpp": "-DY"})
            self.assertEqual(together, {"x/b.cpp"})


class FormatSelfTest(SelfTest):
    @unittest.skipUnless(shutil.which(format_test.TOOL), f"{format_test.TOOL} is not installed")
    def test_a_file_that_is_not_formatted(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / ".clang-format").write_text("BasedOnStyle: Google\n")
            (root / "a.cpp").write_text("int  a;\nint  b;\n")
            (root / "b.cpp").write_text("int a;\n")
            self.expect(format_test.check_format(root, ["a.cpp", "b.cpp"]), "a.cpp:1 is not formatted",
                        "run clang-format-19 -i on it")


class LinksSelfTest(SelfTest):
    NINJA = ("build bin/ratoon: CXX_EXECUTABLE_LINKER__ratoon_Debug cli/CMakeFiles/ratoon.dir/main.cpp.o | base/libbase.a\n"
             "  LINK_LIBRARIES = base/libbase.a  /usr/lib/libcpprest.so.2.10  -lpthread  -lz  -Wl,-x,/t/libtorch.so,-y\n"
             "\nbuild bin/a_test: CXX_EXECUTABLE_LINKER__a_test_Debug tests/CMakeFiles/a_test.dir/unit/core/a_test.cpp.o\n"
             "  LINK_LIBRARIES = /usr/lib/libgtest.a\n\n")

    def check(self, text, **more):
        return links_test.check_links(text, self.NINJA, True, **more)

    def test_links(self):
        right = "ratoon: cpprest torch z\ntests/unit: gtest\n"
        self.expect_fine(self.check(right))
        self.expect(self.check("ratoon: cpprest z\ntests/unit: gtest\n"), "links.txt:1", "\n  ratoon: cpprest z\n",
                    "\n  ratoon: cpprest torch z\n", "think whether that is wanted")
        self.expect(self.check("tests/unit: gtest\n"), "has no line for", "ratoon: cpprest torch z")
        self.expect(self.check("ratoon: cpprest torch z\ntests/unit:\n"), "\n  tests/unit: gtest\n")
        self.expect(self.check(right + "counter: z\n", exists=lambda row: False), "a line for counter, which is not there")

    def test_sets(self):
        self.assertEqual(links_test.read_table("set http = a b\nx: http c\n", True)[0], {"x": {"a", "b", "c"}})
        self.assertEqual(links_test.read_table("set http = a b\nx: http c\n", False)[0], {"x": {"c"}})


if __name__ == "__main__":
    unittest.main()
