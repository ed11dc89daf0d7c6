"""The architecture as a table: which part of the tree may see which, and which third-party library.

A part is a folder with all below it, or single files of a folder (with a *); the longest match counts. Every part
sees itself, the standard library and, unless it is pure, the system's headers. A library is linked only by parts
that may include something of the parts that it is made of.

docs/contribute/architecture.md gives the reasons.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Part:
    path: str
    may: tuple = ()
    third_party: tuple = ()
    target: str = ""       # the ratoon_module()s that bring it to those who link them
    is_pure: bool = False  # time and facts come in as arguments: no clock, thread, socket, file, random device
    instead: str = "move what both need to base, or hand it in as an argument"


@dataclasses.dataclass(frozen=True)
class Package:
    headers: tuple  # a folder ends with /
    targets: tuple = ()


THIRD_PARTY = {
    "boost": Package(("boost/",), ("Boost::headers", "Boost::system")),
    "brotli": Package(("brotli/",), ("Brotli::decoder", "Brotli::encoder")),
    "bzip2": Package(("bzlib.h",), ("BZip2::BZip2",)),
    "CLI11": Package(("CLI/",), ("CLI11::CLI11",)),
    "cpprestsdk": Package(("cpprest/", "pplx/"), ("cpprestsdk::cpprest",)),
    "googletest": Package(("gtest/", "gmock/"), ("GTest::gmock", "GTest::gtest", "GTest::gtest_main")),
    "libtorch": Package(("torch/", "ATen/", "c10/"), ("ratoon::libtorch_cpu", "ratoon::libtorch_cuda")),
    "nanobind": Package(("nanobind/",)),
    "nccl": Package(("nccl.h",), ("ratoon::nccl",)),
    "nlohmann_json": Package(("nlohmann/",), ("nlohmann_json::nlohmann_json",)),
    "openssl": Package(("openssl/",), ("OpenSSL::SSL", "OpenSSL::Crypto")),
    "prometheus-cpp": Package(("prometheus/",), ("prometheus-cpp::core",)),
    "snappy": Package(("snappy.h",), ("Snappy::snappy",)),
    "rapidcheck": Package(("rapidcheck.h", "rapidcheck/"), ("rapidcheck",)),
    "benchmark": Package(("benchmark/",), ("benchmark::benchmark",)),
    "xxhash": Package(("xxhash.h",)),
    "yaml-cpp": Package(("yaml-cpp/",), ("yaml-cpp",)),
    "zlib": Package(("zlib.h",), ("ZLIB::ZLIB",)),
    "zstd": Package(("zstd.h",), ("Zstd::zstd",)),
}
FREE_TARGETS = {"Threads::Threads", "ratoon_build_flags", "test_accelerator"}  # the last is objects of a part, no library

BASE = ("base/include/ratoon", "base/core", "base/contract")
PUBLIC = ("base/include/ratoon", "agent/include/ratoon")  # what a trainer sees
AGENT_PURE = ("agent/src/checkpoint/format",)  # names and texts of files
PACK = "agent/src/checkpoint/pack"
STAGING_PURE = tuple(f"agent/src/checkpoint/staging/{name}.*" for name in (
    "stale_save_check", "slot_info", "slot_rules", "slot_table"))
STREAMING = "agent/src/checkpoint/staging/streaming_copy.*"  # what the processor can do beyond memcpy()
TORCH_LISTS = tuple(f"agent/src/data/order/torch/{name}.*" for name in ("torch_distributed_sampler", "torch_list_memory",
                                                                       "torch_lists"))
AGENT_DATA = "agent/src/data/order"
REFUSALS = "agent/src/data/sets/refuse.*"  # which exit code a file has that a program named
LOADED_STATE = f"{AGENT_DATA}/stream/loaded_state.*"  # says on stderr that a load was for nothing
_OBJECTS = "agent/src/objects"
OBJECTS_WITH = {f"{_OBJECTS}/s3/protocol/sha256.*": "openssl",
                f"{_OBJECTS}/credentials/http_credentials.*": "nlohmann_json"}
OBJECTS_PURE = tuple(f"{_OBJECTS}/{name}.*" for name in (
    "object_info", "object_key", "percent", "store_uri", "cache/cache_name", "cache/eviction", "remote/content_range",
    "remote/location", "remote/retry", "credentials/credentials", "credentials/freshness", "credentials/shared_files")) + (
        f"{_OBJECTS}/s3/protocol",) + tuple(OBJECTS_WITH)
OBJECTS_REMOTE = (f"{_OBJECTS}/remote", f"{_OBJECTS}/s3", f"{_OBJECTS}/credentials")  # what needs HTTP
OPEN_REMOTE = (f"{_OBJECTS}/remote/open_remote_store.*", f"{_OBJECTS}/remote/open_without_http.*")
OBJECTS = OBJECTS_PURE + OPEN_REMOTE + (_OBJECTS,)
BOARD = ("agent/src/board",) + tuple(f"agent/src/board/{name}.*" for name in
                                       ("frame", "handshake", "key_value_store", "unauthenticated_clients"))
# What stands for an accelerator and its NCCL in tests.
ACCELERATOR = "tests/support/accelerator"
NCCL_OF_THREADS = "tests/support/nccl_of_threads.*"
NCCL_STAND_IN = "tests/support/nccl_stand_in"  # its ranks are processes, too
ACCELERATOR_NCCL = "tests/support/accelerator_nccl.*"
# What collectives need of the session.
SEAM = tuple(f"agent/src/session/{name}.*" for name in (
    "engine/control_word", "engine/attempt_over", "shutdown/process_exit", "telemetry/say", "shutdown/exit_report",
    "shutdown/fail", "rendezvous/wait_reporter"))
# What a binding of another language needs of the session.
EMBEDDING = tuple(f"agent/src/session/{name}.*" for name in (
    "options/option_rows", "shutdown/process_exit", "telemetry/say"))
# The loop over attempts, which a binding of another language runs with a function of its own.
ATTEMPT_LOOP = "agent/src/session/api/attempt_loop.*"
# What a session is made of, without a session: time and facts come in.
SESSION_RULES = tuple(
    f"agent/src/session/{name}.*" for name in (
        "api/amount", "api/every", "api/until", "engine/phase_watch", "rendezvous/world_wait", "telemetry/ledger")
) + ("agent/src/preemption",)
RUN_SCHEDULE = "agent/src/session/engine/run_schedule.*"  # the same of what the control word and the manifest say
HISTORY = ("agent/src/history/line.*", "agent/src/history/join.*", "agent/src/history")
PROGRESS = ("agent/src/progress/render.*", "agent/src/progress")
HTTP_LINK = ("agent/src/session/link/coordinator_link.*", "agent/src/session/link/coordinator_link_answers.*",
             "agent/src/session/link/make_link.*")
EXPOSITION = "agent/src/metrics/exposition.*"
METRICS = ("agent/src/metrics", "agent/src/metrics/endpoint.*")
DEVICE_RULES = tuple(f"agent/src/devices/{name}.*"
                     for name in ("cuda_errors", "fault_decision", "suggested_action", "missing_device", "xids"))
DEVICE_HEALTH = "agent/src/devices/health"
INTEROP = "agent/src/checkpoint/interop"  # files of PyTorch and safetensors
TIERS = "agent/src/checkpoint/tiers"  # the one place where checkpoints meet object stores
AGENT_IO = ("agent/src/checkpoint", "agent/src/data/sets", "agent/src/data/loader", "agent/src/session")
AGENT = (PUBLIC + AGENT_PURE + STAGING_PURE + (STREAMING, PACK, INTEROP, TIERS) + SEAM + EMBEDDING[:1] +
         (RUN_SCHEDULE, ATTEMPT_LOOP) + SESSION_RULES + HISTORY + PROGRESS + METRICS + DEVICE_RULES + BOARD + OBJECTS +
         (DEVICE_HEALTH, AGENT_DATA) + TORCH_LISTS + AGENT_IO)
OPERATOR = ("operator/api", "operator/core", "operator/coordinator", "operator/local", "operator/kube",
            "operator/runtime")
MDS = ("agent/include/ratoon/mds_*", "agent/src/mds", "agent/src/mds/format")
EVERYTHING = (BASE + ("base/http", "base/process", "launcher", "launcher/program_control.*") + AGENT + OBJECTS_REMOTE +
              HTTP_LINK + (EXPOSITION,) + MDS + OPERATOR + ("cli", "tests/support"))  # but LibTorch

_AT_THE_DOOR = "pass the bytes or the fact in as an argument, from a part that does input and output"

PARTS = (
    Part("base/include/ratoon", target="base_core", instead="users see it: it stands on the standard library alone"),
    Part("base/core", ("base/include/ratoon",), ("xxhash",), target="base_core"),
    Part("base/contract", ("base/include/ratoon", "base/core"), ("nlohmann_json",), target="base_contract",
         is_pure=True, instead=_AT_THE_DOOR),
    Part("base/http", ("base/include/ratoon", "base/core"), ("boost", "cpprestsdk", "openssl"),
         target="base_http base_http_direct"),
    Part("base/process", BASE, target="base_process"),

    Part("operator/api", BASE, ("nlohmann_json",), target="operator_api", is_pure=True, instead=_AT_THE_DOOR),
    Part("operator/core", BASE + ("operator/api",), target="operator_core", is_pure=True,
         instead="pass the fact in through Observation"),
    Part("operator/kube", BASE + ("operator/api",), ("nlohmann_json",), target="operator_kube", is_pure=True,
         instead=_AT_THE_DOOR),
    Part("operator/runtime", BASE + ("base/http", "operator/api", "operator/core", "operator/coordinator",
                                     "operator/kube"),
         ("nlohmann_json", "openssl", "prometheus-cpp", "yaml-cpp"), target="operator_runtime"),
    Part("operator/main.*", BASE + ("operator/runtime",), ("CLI11",)),
    Part("operator/coordinator", BASE + ("base/http", "operator/api"), target="operator_coordinator",
         instead="the coordinator holds what agents said and decides nothing: the core decides"),
    Part("operator/local", BASE + ("base/http", "base/process", "operator/api", "operator/core", "operator/coordinator"),
         ("nlohmann_json",), target="operator_local"),

    Part("agent/include/ratoon", ("base/include/ratoon",), target="agent",
         instead="users see it: forward-declare the type and include it in the .cpp file"),
    Part("agent/include/ratoon/mds_*", PUBLIC, target="agent_mds"),
    Part("agent/include/ratoon/torch.*", PUBLIC + ("agent/include/ratoon/torch",),
         target="agent_torch agent_torch_cuda"),
    Part("agent/include/ratoon/torch", PUBLIC, ("libtorch",),
         target="agent_torch agent_torch_cuda"),
    *(Part(path, BASE + PUBLIC + AGENT_PURE + (PACK,), target="agent", is_pure=True, instead=_AT_THE_DOOR)
      for path in AGENT_PURE),
    *(Part(path, BASE + DEVICE_RULES, target="agent", is_pure=True, instead=_AT_THE_DOOR) for path in DEVICE_RULES),
    Part(STREAMING, BASE + PUBLIC, target="agent"),
    Part(PACK, BASE + PUBLIC + (STREAMING,), target="agent", is_pure=True, instead=_AT_THE_DOOR),
    Part(AGENT_DATA, BASE + PUBLIC, target="agent", is_pure=True, instead=_AT_THE_DOOR),
    *(Part(path, BASE + PUBLIC + (AGENT_DATA, REFUSALS) + TORCH_LISTS, target="agent",
           instead="lists of a gigabyte are shared and kept as files: what is more than that is arithmetic")
      for path in TORCH_LISTS),
    Part(LOADED_STATE, BASE + PUBLIC + (AGENT_DATA,), target="agent"),
    Part(REFUSALS, BASE + PUBLIC, target="agent"),
    Part("agent/src/data/sets", BASE + PUBLIC + (REFUSALS,), target="agent"),
    Part("agent/src/data/loader", BASE + PUBLIC + ("agent/src/data/sets",), target="agent",
         instead="the order is known through StreamReader alone: see ratoon/stream_reader.h"),
    Part("agent/src/mds/format", BASE + PUBLIC + (MDS[0],),
         ("brotli", "bzip2", "nlohmann_json", "openssl", "snappy", "xxhash", "zlib", "zstd"), target="agent_mds",
         is_pure=True, instead=_AT_THE_DOOR),
    Part("agent/src/mds", BASE + PUBLIC + MDS + OBJECTS + ("agent/src/data/sets", REFUSALS), target="agent_mds"),
    *(Part(path, BASE + PUBLIC + BOARD, target="agent", is_pure=True, instead=_AT_THE_DOOR) for path in BOARD[1:]),
    *(Part(path, BASE + PUBLIC + OBJECTS_PURE, tuple(filter(None, [OBJECTS_WITH.get(path)])), target="agent",
           is_pure=True, instead=_AT_THE_DOOR) for path in OBJECTS_PURE),
    Part(_OBJECTS, BASE + PUBLIC + OBJECTS_PURE + OPEN_REMOTE, target="agent",
         instead="stores that need HTTP are opened through open_remote_store.h; folders work without"),
    *(Part(path, BASE + PUBLIC + OBJECTS + OBJECTS_REMOTE + ("base/http",), target="agent")
      for path in OBJECTS_REMOTE + OPEN_REMOTE),
    Part("agent/src/board", BASE + PUBLIC + BOARD, target="agent"),
    Part("agent/src/checkpoint", BASE + PUBLIC + AGENT_PURE + STAGING_PURE + (PACK, STREAMING), target="agent"),
    *(Part(path, BASE + PUBLIC + AGENT_PURE + STAGING_PURE + (PACK,), target="agent", is_pure=True,
           instead=_AT_THE_DOOR) for path in STAGING_PURE),
    Part(TIERS, BASE + PUBLIC + AGENT_PURE + STAGING_PURE + (PACK, "agent/src/checkpoint") + OBJECTS, target="agent"),
    Part(INTEROP, BASE + PUBLIC + (PACK,), target="agent", is_pure=True, instead=_AT_THE_DOOR),
    *(Part(path, BASE + PUBLIC + SEAM + ("agent/src/session/rendezvous/world_wait.*",), target="agent",
           instead="agent/src/torch sees it: keep it without the session's own types") for path in SEAM),
    Part(EMBEDDING[0], BASE + PUBLIC, target="agent", instead="bindings of other languages see it"),
    *(Part(path, BASE + PUBLIC + SESSION_RULES, target="agent", is_pure=True, instead=_AT_THE_DOOR)
      for path in SESSION_RULES),
    Part(RUN_SCHEDULE, BASE + PUBLIC + SESSION_RULES + (RUN_SCHEDULE, SEAM[0]) + AGENT_PURE, target="agent", is_pure=True,
         instead=_AT_THE_DOOR),
    *(Part(path, BASE + PUBLIC + HISTORY[:2] + AGENT_PURE, target="agent", is_pure=True, instead=_AT_THE_DOOR)
      for path in HISTORY[:2]),
    Part("agent/src/history", BASE + PUBLIC + HISTORY + AGENT_PURE + ("agent/src/checkpoint",), target="agent"),
    Part(PROGRESS[0], BASE + PUBLIC, target="agent", is_pure=True, instead=_AT_THE_DOOR),
    Part(PROGRESS[1], BASE + PUBLIC + PROGRESS, target="agent"),
    Part("agent/src/metrics", BASE + PUBLIC + METRICS, target="agent"),
    Part(DEVICE_HEALTH, BASE + PUBLIC + DEVICE_RULES + (DEVICE_HEALTH,), target="agent"),
    Part(EXPOSITION, BASE + PUBLIC + METRICS + (DEVICE_HEALTH,), ("prometheus-cpp",), target="agent",
         instead="libraries of metrics end here: the rest of the agent writes to meters.h"),
    Part("agent/src/metrics/endpoint.*", BASE + PUBLIC + METRICS + (EXPOSITION, "base/http"), target="agent"),
    Part("agent/src/session", BASE + AGENT, target="agent",
         instead="what needs HTTP is a Link: see coordinator_link.h; agents build without it"),
    Part(ATTEMPT_LOOP, BASE + AGENT, target="agent", instead="bindings of other languages see it"),
    *(Part(path, BASE + AGENT + ("base/http",) + HTTP_LINK, target="agent") for path in HTTP_LINK),
    Part("agent/src/torch", BASE + PUBLIC + SEAM + BOARD + DEVICE_RULES +
         (DEVICE_HEALTH, "agent/include/ratoon/torch", PACK, INTEROP),
         ("libtorch", "nccl"),
         target="agent_torch agent_torch_cuda"),

    Part("launcher/program_control.*", BASE + ("base/process",), target="launcher", is_pure=True, instead=_AT_THE_DOOR),
    Part("launcher", BASE + ("base/http", "base/process", "launcher/program_control.*"), ("nlohmann_json",),
         target="launcher", instead="the launcher runs in any image: it is linked statically, and stands on base alone"),

    # The one place that links both halves.
    Part("cli", BASE + ("base/http", "base/process", "agent/include/ratoon", "agent/src/checkpoint", "operator/api",
                        "operator/kube", "operator/local", "operator/runtime") + AGENT_PURE + HISTORY +
         (PACK, INTEROP, TIERS) + OBJECTS,
         ("CLI11", "nlohmann_json", "yaml-cpp")),
    Part("python", BASE + PUBLIC + MDS[:1] + AGENT_PURE + OBJECTS + (
             "agent/src/checkpoint", "agent/src/data/sets", ATTEMPT_LOOP,
             "agent/src/session/shutdown/exit_report.*", "cli", TIERS, INTEROP, PACK) + EMBEDDING + SEAM[:1] + BOARD,
         ("nanobind",),
         instead="the package shows what users of C++ see, and what `ratoon checkpoint` sees"),
    *(Part(path, PUBLIC + ("agent/include/ratoon/torch", "agent/include/ratoon/torch.*"), ("libtorch",),
           instead="examples see what users see: <ratoon/...>") for path in ("examples/digits", "examples/charlm")),
    *(Part(path, PUBLIC + ("agent/include/ratoon/torch", "agent/include/ratoon/torch.*", "examples/digits"), ("libtorch",),
           instead="examples see what users see: <ratoon/...>")
      for path in ("examples/dqn", "examples/evaluate", "examples/finetune", "examples/gan")),
    *(Part(path, PUBLIC, instead="examples see what users see: <ratoon/...>")
      for path in ("examples/counter", "examples/raw_buffers")),
    Part("examples/shards", PUBLIC + (MDS[0],), instead="examples see what users see: <ratoon/...>"),

    Part("tests/unit", EVERYTHING + ("tests/conformance/support",), ("googletest", "nlohmann_json")),
    Part("tests/property", EVERYTHING, ("googletest", "nlohmann_json", "rapidcheck")),
    Part("tests/support", EVERYTHING, ("googletest", "nlohmann_json")),
    Part("tests/integration", EVERYTHING + ("tests/integration/gate.*",), ("nlohmann_json",)),
    Part("tests/integration/gate.*", PUBLIC),
    Part("tests/conformance", BASE + ("base/http", "operator/kube", "operator/runtime", "tests/conformance/support"),
         ("googletest", "nlohmann_json")),
    Part("tests/conformance/support", BASE + ("base/http",), ("googletest", "openssl")),
    Part(ACCELERATOR, PUBLIC, ("libtorch",)),
    Part(NCCL_OF_THREADS, (ACCELERATOR,), ("nccl",)),
    Part(NCCL_STAND_IN, BASE, ("nccl",)),
    Part(ACCELERATOR_NCCL, (ACCELERATOR, NCCL_STAND_IN, "agent/src/torch")),
    Part("tests/torch",
         BASE + PUBLIC + SEAM + BOARD +
         (DEVICE_HEALTH, "agent/include/ratoon/torch", "agent/include/ratoon/torch.*", "agent/src/torch", "tests/support",
          ACCELERATOR, NCCL_OF_THREADS, NCCL_STAND_IN, "tests/integration/gate.*"),
         ("googletest", "libtorch", "nccl")),
    *(Part(path, PUBLIC + ("agent/include/ratoon/torch", "agent/include/ratoon/torch.*", "examples/digits", "examples/charlm",
                           "tests/integration/gate.*"), ("libtorch",))
      for path in ("tests/torch/gated_*", "tests/torch/loops_*")),
    Part("tests/torch/snippets",
         PUBLIC + (MDS[0], "agent/include/ratoon/torch", "agent/include/ratoon/torch.*", "examples/digits")),
    Part("tests/gpu", PUBLIC + ("agent/include/ratoon/torch", "agent/include/ratoon/torch.*", "agent/src/torch"),
         ("googletest", "libtorch", "nlohmann_json")),
    Part("tests/bench", EVERYTHING + ("agent/include/ratoon/torch", "agent/include/ratoon/torch.*", "agent/src/torch",
                                      "tests/conformance/support"),
         ("benchmark", "libtorch", "nlohmann_json", "openssl")),
    Part("tests/install", PUBLIC + (MDS[0], "agent/include/ratoon/torch", "agent/include/ratoon/torch.*"), ("libtorch",),
         instead="it stands for a user's program"),
)

# Files that CMake or another project reads, not our compiler.
NO_PART = ("cmake/",)

STANDARD = set("""algorithm any array atomic barrier bit bitset cctype cerrno cfloat charconv chrono cinttypes climits
    cmath compare complex concepts condition_variable coroutine csignal cstdarg cstddef cstdint cstdio cstdlib cstring
    ctime deque exception execution filesystem forward_list fstream functional future initializer_list iomanip ios
    iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric
    optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span
    sstream stack stdexcept stop_token streambuf string string_view syncstream system_error thread tuple type_traits
    typeindex typeinfo unordered_map unordered_set utility valarray variant vector version""".split())

# Of Linux, its C library and the compiler.
SYSTEM = (r"(arpa|linux|net|netinet|sys)/\w+\.h|"
          r"(\w+mmintrin|cxxabi|dirent|dlfcn|fcntl|ifaddrs|malloc|netdb|poll|pthread|sched|signal|spawn|stddef|unistd)\.h")

# What a pure part may not see. <chrono> is fine for durations, <cstdio> for snprintf.
IMPURE_HEADERS = {
    **dict.fromkeys("atomic barrier condition_variable future latch mutex semaphore shared_mutex stop_token "
                    "thread".split(), "threads"),
    **dict.fromkeys("filesystem fstream iostream".split(), "files"),
    "random": "a random device", "ctime": "a clock", "csignal": "signals",
    "ratoon/atomic_file.h": "files", "base/core/log.h": "a log", "base/core/unfinished_file.h": "files",
    "base/core/unique_fd.h": "files",
}
IMPURE_WORDS = {
    r"\b\w*(?:_clock|Clock)\b": "a clock",
    r"(?:\bnow|\b(?:time|clock_gettime|gettimeofday))\s*\(": "a clock",
    r"\b(?:getenv|setenv)\s*\(": "the environment",
    r"\b(?:random_device|getrandom)\b": "a random device",
    r"\b(?:fopen|fprintf|printf)\s*\(": "files",
    r"\b(?:fs|filesystem)::(?!path\b)\w+": "files",
    r"\b(?:thread_local|std::(?:jthread|thread|async)\b)": "threads",
}
IMPURE_ALLOWED = set()  # pairs of a pure part's file and a header that it may include all the same
