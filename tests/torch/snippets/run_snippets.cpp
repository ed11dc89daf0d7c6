// Runs training functions that contain snippets of the documentation, each through one loss and one resize:
//
//   run_snippets FOLDER [NAME...]
//
// Two ranks train. Rank 1 is killed after checkpoints and started again, and both go on. Then both are
// killed, and one rank alone finishes the run. Each process is a fork, which loads no libraries again. Prints
// a line for each training function.
#include "tests/torch/snippets/run_snippets.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/train.h>

namespace {

namespace fs = std::filesystem;

struct Entry {
  std::function<void(ratoon::Session&)> train{};
  std::function<int(int, char**)> main{};
  bool is_in_place = false;
};

std::map<std::string, Entry>& entries() {
  static std::map<std::string, Entry> all;
  return all;
}

// The life of one process.
struct Life {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  int launch = 1;
  bool dies = false;
};

constexpr int kSavesBeforeDeath = 3;
constexpr int kWorkBeforeDeath = 9;
const Life* life_of_program = nullptr;  // of a program with a main() of its own

void die() {
  static_cast<void>(std::raise(SIGKILL));
}

void die_at_a_save(ratoon::Session& session, const Life& life) {
  if (!life.dies) return;
  session.before_saves([saves = 0]() mutable {
    if (++saves == kSavesBeforeDeath) die();
  });
}

void set(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);
}

int run(const std::string& name, const fs::path& folder, const Life& life) {
  set("RATOON_SAVE_FOLDER", folder / "checkpoints");
  set("RATOON_RUN_NAME", name);
  set("RATOON_SAVE_EVERY_STEPS", life.size > 1 ? "2" : "100");
  if (life.size > 1) {
    set("RANK", std::to_string(life.rank));
    set("WORLD_SIZE", std::to_string(life.size));
    set("LOCAL_RANK", std::to_string(life.rank));
    set("LOCAL_WORLD_SIZE", std::to_string(life.size));
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", std::to_string(life.launch));
  }
  const Entry& entry = entries().at(name);
  if (entry.main) {
    life_of_program = &life;
    std::vector<std::string> words = {name};
    std::vector<char*> pointers = {words[0].data(), nullptr};
    return entry.main(1, pointers.data());
  }
  return ratoon::train(ratoon::Options::from_environment(), [&](ratoon::Session& session) {
    die_at_a_save(session, life);
    entry.train(session);
  });
}

// Starts the process again while it ends with exit code 81, as a launcher does, and then ends as it did.
[[noreturn]] void run_again_and_again(const std::string& name, const fs::path& folder, const Life& life) {
  constexpr int kStartsAgain = 81;
  for (;;) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::exit(run(name, folder, life));
    }
    int status = 0;
    static_cast<void>(::waitpid(pid, &status, 0));
    if (WIFSIGNALED(status)) die();
    if (WEXITSTATUS(status) != kStartsAgain) ::_exit(WEXITSTATUS(status));
  }
}

pid_t start(const std::string& name, const fs::path& folder, const Life& life) {
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork() failed");
  if (pid > 0) return pid;
  const std::string log = folder / ("rank-" + std::to_string(life.rank) + ".log");
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(output, 1);
  ::dup2(output, 2);
  fs::current_path(folder);
  if (entries().at(name).is_in_place) run_again_and_again(name, folder, life);
  std::exit(run(name, folder, life));
}

// Throws if the process ends in another way than by a signal (`signal`) or by returning 0 (`signal` 0).
void wait_for(pid_t pid, const std::string& which, int signal) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) throw std::runtime_error("waitpid() failed");
  if (signal != 0 && WIFSIGNALED(status) && WTERMSIG(status) == signal) return;
  if (signal == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw std::runtime_error(which + (WIFEXITED(status)
                                        ? " returned " + std::to_string(WEXITSTATUS(status))
                                        : " was ended by signal " + std::to_string(WTERMSIG(status))));
}

// A process that run_again_and_again() started ends soon after its parent, and holds a lock of the run until
// then.
void wait_for_orphans() {
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

void lose_and_resize(const std::string& name, const fs::path& folder) {
  const int launch = 20'000 + static_cast<int>(::getpid() % 20'000);
  const pid_t first = start(name, folder, {.rank = 0, .size = 2, .launch = launch});
  try {
    const Life second{.rank = 1, .size = 2, .launch = launch, .dies = true};
    wait_for(start(name, folder, second), "rank 1, which is to be killed,", SIGKILL);
    wait_for(start(name, folder, second), "rank 1, which is to be killed once more,", SIGKILL);
    static_cast<void>(::kill(first, SIGKILL));
    wait_for(first, "rank 0, which was killed,", SIGKILL);
    wait_for_orphans();
  } catch (...) {
    static_cast<void>(::kill(first, SIGKILL));
    throw;
  }
  wait_for(start(name, folder, {}), "the process that goes on alone", 0);
}

int supervise(const std::string& name, const fs::path& folder) {
  try {
    fs::create_directories(folder);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    lose_and_resize(name, folder);
    std::printf("%s passed\n", name.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::printf("%s failed: %s; its output is in %s\n", name.c_str(), error.what(), folder.c_str());
    return 1;
  }
}

}  // namespace

namespace snippets {

bool add(const std::string& name, std::function<void(ratoon::Session&)> train) {
  return entries().emplace(name, Entry{.train = std::move(train)}).second;
}
bool add_program(const std::string& name, std::function<int(int, char**)> main) {
  return entries().emplace(name, Entry{.main = std::move(main)}).second;
}
bool add_in_place(const std::string& name, std::function<int(int, char**)> main) {
  return entries().emplace(name, Entry{.main = std::move(main), .is_in_place = true}).second;
}

void work() {
  static int calls = 0;
  if (life_of_program && life_of_program->dies && ++calls == kWorkBeforeDeath) die();
}

}  // namespace snippets

int main(int argc, char** argv) {
  constexpr int kAtOnce = 3;
  if (argc < 2) {
    std::fprintf(stderr, "run_snippets needs a folder: run_snippets FOLDER [NAME...]\n");
    return 82;
  }
  std::vector<std::string> names(argv + 2, argv + argc);
  if (names.empty())
    for (const auto& [name, entry] : entries()) names.push_back(name);
  int running = 0, failures = 0;
  const auto wait_for_one = [&] {
    int status = 0;
    static_cast<void>(::wait(&status));
    --running;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++failures;
  };
  for (const std::string& name : names) {
    if (running == kAtOnce) wait_for_one();
    std::fflush(stdout);
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int code = supervise(name, fs::absolute(argv[1]) / name);
      std::fflush(stdout);
      ::_exit(code);
    }
    ++running;
  }
  while (running > 0) wait_for_one();
  return failures == 0 ? 0 : 1;
}
