"""What no file says, with what to write instead. Words are looked for in code: comments and strings are free, but for
the rules of TEXT. `allowed` names the files that may, each for a reason."""
import dataclasses

PRODUCT = ("base/", "operator/", "agent/", "cli/", "launcher/")
LIBRARIES = ("base/", "operator/", "agent/")
EVERYWHERE = ("",)
_WITHOUT_TENSORS = ("base/", "operator/", "agent/src/board/", "agent/src/session/", "agent/src/checkpoint/", "agent/src/data/",
                    "agent/src/objects/", "cli/", "tests/unit/",
                    "tests/conformance/", "tests/property/", "tests/support/")  # elsewhere a tensor is detached
HEADERS = (".h",)


@dataclasses.dataclass(frozen=True)
class Ban:
    name: str
    pattern: str
    mend: str
    folders: tuple = EVERYWHERE
    endings: tuple = (".h", ".cpp")
    allowed: dict = dataclasses.field(default_factory=dict)  # path: reason


CODE = (
    Ban("std::regex", r"\bstd::w?(?:regex|smatch|cmatch)\b", "parse with find and std::from_chars: std::regex is slow "
        "and overflows the stack on long input"),
    Ban("a standard distribution", r"\bstd::(?:shuffle|sample|random_shuffle|\w+_distribution)\b",
        "use ratoon/counter_random.h: standard libraries differ in what these draw"),
    Ban("rand()", r"(?<![\w.>])(?:std::|::)?(?:s?rand|drand48)\s*\(", "use ratoon/counter_random.h, or getrandom() for secrets"),
    Ban("an unbounded write", r"\b(?:v?sprintf|strcpy|strcat|gets)\s*\(", "use std::string, or snprintf with its size"),
    Ban("a number read without checks", r"\b(?:ato[ifl]l?|sto(?:u?ll?|[ifd])|strto(?:u?ll?|[df]))\s*\(",
        "use std::from_chars and say which text was wrong", PRODUCT, allowed={
            "base/http/pooling_transport.cpp": "reply_parser.cpp has refused a Content-Length of other than 1 to 18 digits",
        }),
    Ban("a function with hidden state", r"\b(?:strtok|localtime|gmtime|ctime|asctime)\s*\(",
        "use the _r form: other threads call it too", PRODUCT),
    Ban("a static object with a destructor", r"^ +static (?!constexpr |std::(?:once_flag|uint64_t) |Mutex |"
        r"(?:const )?NeverDestroyed<|(?:const )?(?:bool|int|auto|std::uint64_t|std::optional<std::uint64_t>) |\w+\* const )"
        r"(?:const )?[\w:<>, *()]+ \w+(?:;|\{| =)",
        "use NeverDestroyed of base/core: exit() destroys the object while other threads use it", PRODUCT,
        (".cpp",), allowed={
            "agent/src/board/served_board.cpp": "a server's destructor joins its threads",
            "base/core/fd_closed_on_fork.cpp": "its destructor is trivial, which a static_assert says",
        }),
    Ban("a shell", r"\b(?:system|popen)\s*\(", "use posix_spawn with a list of arguments: a shell reads names as code"),
    Ban("fork", r"\bv?fork\s*\(", "use posix_spawn, or a thread: a fork takes a trainer's memory map, the locks of its threads "
        "and, where memory is short, the save", PRODUCT, allowed={
            "base/process/child.cpp": "a launcher has no tensors; a child asks between fork and exec to end with its launcher",
        }),
    Ban("volatile", r"\bvolatile\b", "use std::atomic: volatile orders nothing between threads"),
    Ban("assert", r"\bassert\s*\(", "return an Error; or std::abort() with the reason beside it, in release builds too"),
    Ban("a detached thread", r"(?:\.|->)detach\s*\(\s*\)", "keep a std::thread member and join it: a detached one "
        "outlives what it uses", _WITHOUT_TENSORS, allowed={
            "agent/src/checkpoint/disk/calls_with_timeout.cpp":
            "a thread that a hanging disk may hold; all that it uses is its own",
            "agent/src/checkpoint/saver/saver.cpp": "a thread that a hanging disk holds; the process then ends at once",
            "operator/local/disk_writer.cpp": "a thread that a hanging disk may hold; all that it uses is its own",
            "tests/conformance/server_answers.cpp": "a reply that comes after everything else",
        }),
    Ban("new", r"\bnew\b(?!\s*\()", "use std::make_unique or a container", allowed={
        "agent/src/board/server.cpp": "a private constructor behind start()",
        "agent/src/checkpoint/saver/save_pipeline.cpp": "a private constructor behind open()",
        "agent/src/checkpoint/disk/real/real_disk.cpp": "a private constructor behind open_folder()",
        "python/src/errors.cpp": "an object that Python owns",
        "python/src/training.cpp": "an object that Python owns",
        "agent/src/objects/cache/object_cache.cpp": "a private constructor behind open()",
        "agent/src/objects/s3/s3_client.cpp": "a private constructor behind make()",
        "agent/src/session/link/single_process_link.cpp": "a private constructor behind open()",
        "agent/src/session/link/coordinator_link.cpp": "a private constructor behind open()",
        "agent/src/session/link/group_link.cpp": "a private constructor behind open()",
        "tests/support/scarce_memory.cpp": "stands in for operator new",
        "tests/support/crash/loop_mount.cpp": "a private constructor behind make()",
    }),
    Ban("delete", r"\bdelete\b(?!\s*[;,])", "let a std::unique_ptr own it", allowed={
        "python/src/errors.cpp": "an object that Python owned",
        "tests/support/scarce_memory.cpp": "stands in for operator delete",
    }),
    Ban("malloc", r"\b(?:malloc|calloc|realloc|free)\s*\(", "use a container, or std::unique_ptr with a deleter", allowed={
        "tests/support/accelerator/hooks.cpp": "LibTorch takes memory with the function that frees it",
        "tests/support/scarce_memory.cpp": "stands in for operator new and delete",
    }),
    Ban("a capture that only a failure ends", r"<<\s*(?:testing::)?internal::GetCaptured\w+",
        "take the text before the check: what follows << is not called where the check holds"),
    Ban("goto", r"\bgoto\b", "return from a function of its own"),
    Ban("a sleep", r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\s*\(|(?<![\w.>:])(?:::)?sleep\s*\(\s*\d",
        "wait for the event itself, with a deadline; in tests move a ManualClock", allowed={
            "agent/src/torch/collectives/averager.cpp": "an accelerator has no descriptor",
            "agent/src/torch/collectives/nccl/nccl_collective.cpp": "nor has an accelerator",
            "agent/src/torch/collectives/rank_group.cpp": "a collective has no descriptor, and orders come on another thread",
            "tests/support/accelerator/stream.cpp": "stands for a device that is late",
            "tests/support/nccl_of_threads.cpp": "stands for an abort that takes its time",
            "tests/support/nvml_stand_in/nvml.cpp": "stands for a driver that has nothing to report, or does not answer",
            "examples/counter/counter.cpp": "stands for the work of a step",
            "examples/charlm/flags.cpp": "stands for a longer step",
            "examples/digits/flags.cpp": "stands for a longer step",
            "examples/raw_buffers/flags.cpp": "stands for a longer step",
            "examples/shards/shapes.cpp": "another process writes the file, and looks for no one who waits",
            "examples/shards/shards.cpp": "stands for the work of a step",
            "agent/src/session/link/coordinator_link.cpp": "a pause between tries, far shorter than a poll",
            "agent/src/session/engine/engine_saves.cpp": "the votes of other ranks are files on a shared disk: nothing wakes us",
            "agent/src/session/link/group_link.cpp": "the calls of other ranks are files on a shared disk: nothing wakes us",
            "agent/src/session/shutdown/group_end.cpp":
            "the calls of other ranks are files on a shared disk: nothing wakes us",
            "agent/src/session/locations/checkpoint_locations.cpp":
            "another job's signs of life are files in a store: nothing wakes us",
            "tests/integration/drain_probe.cpp": "stands for the work of a step",
            "tests/integration/gate.h": "the test's word is a file: nothing wakes us",
            "tests/integration/gated_counter.cpp": "stands for the work of a step",
            "tests/integration/in_place_probe.cpp": "stands for the work of a step",
            "tests/integration/places_probe.cpp": "stands for the work of a step",
            "tests/integration/words.h": "words of other ranks are files",
            "tests/conformance/server_answers.cpp": "slow clients and late replies, in real time as the kernel is",
            "tests/conformance/server_limits.cpp": "slow clients and late replies, in real time as the kernel is",
            "tests/conformance/server_streams_and_stops.cpp": "slow clients and late replies, in real time as the kernel is",
            "tests/conformance/support/server_tests.h": "slow clients and late replies, in real time as the kernel is",
            "tests/property/agent/crash/checkpoint_trainer.cpp": "the votes of other ranks are files: nothing wakes us",
            "tests/conformance/support/raw_socket.cpp": "no event reports a kernel's acknowledgement",
            "tests/conformance/transport_basics.cpp": "a server that answers slowly",
            "tests/unit/operator/threads/members_in_memory.h": "imitates the work of a step, and no event reports an open port",
            "tests/unit/operator/threads/operator_threads_test.cpp": "a scraper asks now and then",
            "tests/unit/agent/session/link/group_link_test.cpp": "looks for what another link's thread does with files",
            "tests/unit/agent/session/link/group_link_fixture.h": "looks for what another link's thread does with files",
            "tests/unit/agent/board/board_flood_nightly_test.cpp": "ranks connect now and then while a flood lasts",
            "tests/unit/agent/session/link/coordinator_link_fixture.h": "looks for what threads behind sockets do",
            "tests/unit/operator/scheduling/work_queue_test.cpp": "a sleeper in real time wakes, or does not",
            "tests/conformance/transport_limits.cpp": "a server that falls silent",
        }),
    Ban("std::cout and friends", r"\bstd::(?:cout|cerr|clog|endl)\b", "log through base/core/log.h, print in cli",
        LIBRARIES, allowed={
            "agent/src/session/shutdown/process_exit.cpp": "flushes what the program printed, before the process ends at once",
        }),
    Ban("printing from a library", r"(?<![\w:.>])(?:std::)?(?:v?f?printf|f?puts|putchar|perror)\s*\(",
        "log through base/core/log.h: standard output belongs to the program", LIBRARIES, allowed={
            "operator/main.cpp": "a program says on standard error why it cannot begin",
            "agent/src/session/telemetry/say.cpp": "the same, of trainers and of what does not end them: train()'s voice",
            "agent/src/session/shutdown/exit_report.cpp": "prints the options where a user's main() is asked for them",
        }),
    Ban("using namespace in a header", r"\busing\s+namespace\b", "write the namespace out", endings=HEADERS),
    Ban("std::getenv", r"\bgetenv\s*\(", "take the value as an option: one place reads the environment", PRODUCT,
        allowed={
            "agent/src/objects/remote/http_dependencies.cpp": "AWS' own variables, for those who have no options",
            "agent/src/torch/device.cpp": "the variables with which a container and CUDA choose devices",
            "agent/src/torch/numerics.cpp": "LibTorch's own variable, for those who chose its instructions themselves",
            "agent/src/session/options/options.cpp": "Options::from_environment, the agent's one reader",
            "operator/main.cpp": "the operator's one reader",
            "cli/cluster/access/job_client.cpp": "KUBECONFIG and HOME, by which kubectl finds its cluster too",
            "cli/launch/launch_command.cpp": "whether it starts the processes of a member, and which GPUs they see",
            "operator/local/members/find_program.cpp": "PATH, by which the system finds what is started",
            "cli/run/run_job.cpp": "PATH for the members it starts",
            "launcher/main.cpp": "the launcher's one reader",
        }),
    Ban("code left out by the preprocessor", r"^[ \t]*#[ \t]*(?:if\s+[01]\b|(?:ifn?def|if)\b.*\bN?DEBUG\b)",
        "remove it: what is tested is what runs"),
    Ban("a macro", r"^[ \t]*#[ \t]*define\b", "use constexpr, a function or a template", LIBRARIES + ("cli/",), allowed={
        "base/contract/codec.cpp": "instantiates the codec of each message",
        "base/core/crc32c_x86.cpp": "an attribute that only GCC's spelling has",
        "base/core/threads/mutex.h": "attributes that only Clang has",
        "agent/src/mds/format/hash.cpp": "how xxhash.h is told to be header-only",
        "base/core/xxh3.cpp": "how xxhash.h is told to be header-only",
    }),
    Ban("a mutex without annotations", r"\bstd::(?:(?:recursive_|timed_|shared_)*mutex|condition_variable(?:_any)?|lock_guard|"
        r"unique_lock|scoped_lock|shared_lock)\b",
        "use Mutex, MutexLock and ConditionVariable of base/core/threads, and mark what they guard", PRODUCT + ("python/",),
        allowed={
            "base/core/threads/mutex.h": "what they are made of",
            "base/core/threads/condition_variable.h": "what they are made of",
            "base/core/fd_closed_on_fork.cpp": "locked before a fork and unlocked after it, in two functions",
            "agent/include/ratoon/folder_dataset.h": "a header that users see includes none of base/core",
            "agent/include/ratoon/memory_dataset.h": "a header that users see includes none of base/core",
            "agent/include/ratoon/record_dataset.h": "a header that users see includes none of base/core",
            "agent/src/data/sets/folder/folder_dataset.cpp": "locks the mutex of such a header",
            "agent/src/data/sets/memory_dataset.cpp": "locks the mutex of such a header",
            "agent/src/data/sets/record_dataset.cpp": "locks the mutex of such a header",
            "agent/src/torch/tracking/generators.cpp": "locks LibTorch's own mutex",
        }),
    Ban("a C-style cast", r"(?<![\w>)])\(\s*(?:unsigned |signed )?(?:int|long|short|char|size_t|double|float|u?int\d+_t)\s*\*?\)"
        r"\s*[\w(&*]", "use static_cast, or braces where nothing is lost"),
    Ban("catching by value", r"\bcatch\s*\(\s*(?!\.\.\.)[^&()]*\)", "catch by const reference"),
)

_OPEN_ENDS = ("TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK", "W" "IP")
TEXT = (
    Ban("an open end", r"\b(?:" + "|".join(_OPEN_ENDS) + r")\b", "do it, or say in docs/ what is missing and why",
        endings=EVERYWHERE),
    Ban("a path of one machine",
        r"(?<![\w.\-/$}>])/(?:wo" r"rk|ro" r"ot|fa" r"rm|ho" r"me/\w+|Us" r"ers/\w+)(?=[/\s\"'`,;:)]|$)",
        "derive it from the repository's root, XDG_CACHE_HOME or an option", endings=EVERYWHERE),
    Ban("a package registry's host", r"\b(?:py" r"pi\.org|python" r"hosted\.org|registry\.np" r"mjs\.org|proxy\.go"
        r"lang\.org|crat" r"es\.io|download\.py" r"torch\.org|deb\.deb" r"ian\.org)\b",
        "let the package tool use the registry that its user chose", endings=EVERYWHERE),
    Ban("words about how the text came to be", r"(?i)\b(?:cla" r"ude|anth" r"ropic|open" r"ai|copi" r"lot|chat" r"gpt|"
        r"chat" r"bots?|ai[ ]assistants?|as[ ]an[ ]ai|(?:previous|earlier|next|another)[ ]assistant|"
        r"co-[a]uthored-by)\b", "say what the code does and why", endings=EVERYWHERE),
    Ban("a document that is not here", r"\b(?:DE" r"SIGN|BUI" r"LD_NOTES|aes" r"thetics)\.md\b",
        "name the file under docs/ that says it", endings=EVERYWHERE),
)

# Size: a file is read in one sitting, a function on one screen.
FILE_LINES = 400
FUNCTION_LINES = 70
CPP_COLUMNS = 110     # .clang-format
OTHER_COLUMNS = 130   # scripts, CMake, Python; aim at 120
MEASURED = (".h", ".cpp", ".py", ".cmake", ".sh", ".in", "CMakeLists.txt")
WIDE = {
    "cmake/ratoon-agent-torch.pc.in": "pkg-config knows no continued lines",
    "cmake/ratoon-agent.pc.in": "pkg-config knows no continued lines",
}

# Headers that no #include of ours names.
UNNAMED_HEADERS = {
    "agent/src/torch/collectives/nccl/nccl_headers/cuda_fp16.h": "nccl.h includes it",
    "agent/src/torch/collectives/nccl/nccl_headers/cuda_runtime.h": "nccl.h includes it",
}
# Sources that no CMake file names.
UNBUILT = {}
# Paths in comments that are made, not stored.
MADE = {
    "cmake/ratoonConfig.cmake": "installed", "cmake/Torch/TorchConfig.cmake": "LibTorch's own",
    "tests/unit/operator/thing_test.cpp": "an example of a name",
}
