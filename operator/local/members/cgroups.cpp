#include "operator/local/members/cgroups.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/own_cgroup.h"
#include "base/core/read_file.h"
#include "base/core/split_join.h"
#include "base/core/unique_fd.h"
#include "operator/local/folder/run_folder.h"
#include "operator/local/members/cgroup_rules.h"
#include "operator/local/members/find_program.h"

namespace ratoon::local {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProcsFile = "cgroup.procs";
constexpr const char* kSubtreeControlFile = "cgroup.subtree_control";
constexpr const char* kRunnerCgroup = "ratoon-runner";

std::string read_text(const fs::path& path) {
  return read_file(path).value_or("");
}

// Makes an error without the advice of system_error(), which is about volumes and not about cgroups.
Error cgroup_error(int error_number, const std::string& doing) {
  return {ErrorKind::kPermissionDenied, doing + ": " + std::generic_category().message(error_number)};
}

Result<void> write_file(const fs::path& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.is_open() || ::write(file.get(), text.data(), text.size()) < 0)
    return cgroup_error(errno, "writing " + std::string(text) + " to " + path.string());
  return {};
}

Result<void> make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return cgroup_error(errno, "creating " + path.string());
}

std::vector<pid_t> processes_in(const fs::path& cgroup) {
  std::vector<pid_t> pids;
  for (const auto& line : split(read_text(cgroup / kProcsFile), '\n')) {
    pid_t pid = 0;
    std::from_chars(line.data(), line.data() + line.size(), pid);
    if (pid > 1)
      // Skip the number 0, which stands for a process outside of this PID namespace: kill(0) would signal our
      // own process group.
      pids.push_back(pid);
  }
  return pids;
}

// Kills the cgroup's processes and removes the cgroup. Returns whether the cgroup is gone.
bool kill_and_remove(const fs::path& cgroup) {
  for (const pid_t pid : processes_in(cgroup))
    if (pid != ::getpid()) ::kill(pid, SIGKILL);
  return ::rmdir(cgroup.c_str()) == 0 || errno == ENOENT;
}

void kill_and_remove_tree(const fs::path& branch) {
  constexpr int kTries = 200;
  constexpr int kPauseMillis = 10;
  for (int i = 0; i < kTries && !kill_and_remove(branch); ++i) {
    std::error_code ignored;
    if (i > 0) ::poll(nullptr, 0, kPauseMillis);
    for (const auto& entry : fs::directory_iterator(branch, ignored))
      if (entry.is_directory(ignored)) static_cast<void>(kill_and_remove(entry.path()));
  }
}

UnifiedCgroup read_unified_cgroup(const fs::path& own) {
  const auto processes = processes_in(own);
  return {.folder = own.string(),
          .available_controllers = read_text(own / "cgroup.controllers"),
          .enabled_controllers = read_text(own / kSubtreeControlFile),
          .has_other_processes = std::ranges::any_of(processes, [](pid_t pid) { return pid != ::getpid(); })};
}

}  // namespace

Cgroups Cgroups::open(const fs::path& root, const fs::path& run_folder,
                      const std::vector<std::string_view>& controllers) {
  const std::string name = run_resource_name(run_folder);
  Cgroups opened;
  for (const std::string_view controller : controllers) {
    auto branch = opened.make_run_cgroup(controller, root, name);
    if (branch)
      opened.run_cgroups_.push_back(*std::move(branch));
    else
      opened.unenforced_limits_.push_back("resources.limits." + std::string(controller) +
                                          " is not enforced here: " + branch.error().message() +
                                          "; members are not limited");
  }
  return opened;
}

Result<Cgroups::RunCgroup> Cgroups::make_run_cgroup(std::string_view controller, const fs::path& root,
                                                    const std::string& name) {
  auto own = own_cgroup(controller, root);
  if (!own) return Error(ErrorKind::kNotFound, "this machine has no cgroups");
  if (!former_cgroup_.empty()) own->folder = former_cgroup_;
  const fs::path folder = own->folder / name;
  const bool is_first =
      std::ranges::none_of(run_cgroups_, [&](const RunCgroup& branch) { return branch.folder == folder; });
  if (is_first) kill_and_remove_tree(folder);
  if (own->is_unified) {
    if (auto made = move_to_child(own->folder, controller); !made) return made.error();
  }
  if (auto made = make_folder(folder); !made) return made.error();
  if (own->is_unified) {
    if (auto given = write_file(folder / kSubtreeControlFile, "+" + std::string(controller)); !given)
      return given.error();
  }
  return RunCgroup{controller, folder, own->is_unified};
}

Result<void> Cgroups::move_to_child(const fs::path& own, std::string_view controller) {
  const auto has_to = must_move_to_child(read_unified_cgroup(own), controller);
  if (!has_to) return has_to.error();
  if (!*has_to) return {};
  if (former_cgroup_.empty()) {
    if (auto made = make_folder(own / kRunnerCgroup); !made) return made;
    if (auto moved = write_file(own / kRunnerCgroup / kProcsFile, "0"); !moved) return moved;
    former_cgroup_ = own;
  }
  return write_file(own / kSubtreeControlFile, "+" + std::string(controller));
}

Cgroups::~Cgroups() {
  for (const auto& branch : run_cgroups_) kill_and_remove_tree(branch.folder);
  if (former_cgroup_.empty()) return;
  for (const auto& branch : run_cgroups_)
    static_cast<void>(write_file(former_cgroup_ / kSubtreeControlFile, "-" + std::string(branch.controller)));
  static_cast<void>(write_file(former_cgroup_ / kProcsFile, "0"));
  static_cast<void>(::rmdir((former_cgroup_ / kRunnerCgroup).c_str()));
}

void Cgroups::swap(Cgroups& other) noexcept {
  std::swap(run_cgroups_, other.run_cgroups_);
  std::swap(unenforced_limits_, other.unenforced_limits_);
  std::swap(former_cgroup_, other.former_cgroup_);
}

Result<std::vector<std::string>> Cgroups::make_confined_command(
    const std::string& member, const api::ResourceLimits& limits, std::vector<std::string> command,
    const std::vector<std::string>& variables) const {
  std::vector<std::string> procs_files;
  for (const auto& branch : run_cgroups_) {
    if (!is_limited(limits, branch.controller)) continue;
    const fs::path folder = branch.folder / member;
    if (auto made = make_folder(folder); !made) return made.error();
    for (const auto& setting : cgroup_settings(limits, branch.controller, branch.is_unified)) {
      const auto written = write_file(folder / setting.file, setting.value);
      if (!written && setting.is_required) return written.error();
    }
    procs_files.push_back((folder / kProcsFile).string());
  }
  if (procs_files.empty()) return command;
  // In cgroup version 2 all controllers share one cgroup, which the member enters only once.
  procs_files.erase(std::unique(procs_files.begin(), procs_files.end()), procs_files.end());
  auto program = find_program(command.front());
  if (!program) return program.error();
  command.front() = *std::move(program);
  return command_in_cgroups(procs_files, command, variables);
}

bool Cgroups::was_out_of_memory(const std::string& member) const {
  const auto memory = std::ranges::find(run_cgroups_, kMemoryController, &RunCgroup::controller);
  if (memory == run_cgroups_.end()) return false;
  const std::string text = read_text(memory->folder / member / oom_kill_file(memory->is_unified));
  return number_after(text, "oom_kill ").value_or(0) > 0;
}

void Cgroups::remove(const std::string& member) {
  // Ignore a failure: at the end of the run, the cgroup is removed together with the run's cgroup.
  for (const auto& branch : run_cgroups_) static_cast<void>(kill_and_remove(branch.folder / member));
}

}  // namespace ratoon::local
