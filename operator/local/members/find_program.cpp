#include "operator/local/members/find_program.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "base/core/split_join.h"

namespace ratoon::local {

Result<std::string> find_program(const std::string& name) {
  namespace fs = std::filesystem;
  const char* path = std::getenv("PATH");
  const bool has_folder = name.find('/') != std::string::npos;
  const std::vector<std::string> folders =
      has_folder ? std::vector<std::string>{""} : split(path == nullptr ? kDefaultSearchPath : path, ':');
  int problem = ENOENT;
  for (const auto& folder : folders) {
    const fs::path program = fs::path(folder) / name;
    std::error_code ignored;
    if (!fs::exists(program, ignored)) continue;
    if (fs::is_regular_file(program, ignored) && ::access(program.c_str(), X_OK) == 0)
      return program.string();
    problem = EACCES;
  }
  return start_error(name, problem);
}

namespace {

// Returns whether the system only lacks a resource, such as memory, that may be free again in a second.
bool is_resource_shortage(int problem) {
  return problem == EAGAIN || problem == ENOMEM || problem == EMFILE || problem == ENFILE;
}

}  // namespace

Error start_error(const std::string& name, int problem) {
  const Error error = system_error(problem, "starting '" + name + "'");
  if (problem == EACCES)
    return Error(
        ErrorKind::kInvalid,
        error.message() + ": you do not have the permission to run this file as a program; see `command`");
  if (is_resource_shortage(problem))
    return Error(ErrorKind::kUnavailable,
                 error.message() +
                     ": this machine is short of processes, memory or open files; the start is tried again "
                     "each second. End other programs, ask for fewer members, or raise the "
                     "limit (ulimit -u, ulimit -n, pids.max)");
  if (problem != ENOENT) return error;
  const bool has_folder = name.find('/') != std::string::npos;
  return Error(error.kind(),
               error.message() + (has_folder ? "; a relative path counts from the current folder"
                                             : "; no folder of PATH has this program: give a path to it"));
}

}  // namespace ratoon::local
