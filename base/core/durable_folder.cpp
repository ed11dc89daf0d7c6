#include "base/core/durable_folder.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon {

namespace fs = std::filesystem;

namespace {

fs::path parent_of(const fs::path& folder) {
  return folder.has_parent_path() ? folder.parent_path() : fs::path(".");
}

}  // namespace

Result<void> sync_folder(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return system_error(errno, "opening folder " + folder.string());
  return sync_open_folder(fd.get(), folder.string());
}

Result<void> sync_open_folder(int fd, const std::string& shown) {
  const bool is_done = ::fsync(fd) == 0 || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS;
  return is_done ? Result<void>() : system_error(errno, "syncing folder " + shown);
}

Error add_write_permission_hint(const Error& refused, const fs::path& folder) {
  return {refused.kind(), refused.message() + "; user " + std::to_string(::geteuid()) +
                              " must be able to write in " + folder.string() +
                              ": change its owner or mode, or use another folder"};
}

Result<std::vector<fs::path>> make_folders(const fs::path& folder) {
  struct stat facts{};
  std::vector<fs::path> parents;
  if (folder.empty() || (::stat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode))) return parents;
  if (folder.has_relative_path()) {  // the root has no folder above it, and is its own parent
    auto above = make_folders(folder.parent_path());
    if (!above) return above;
    parents = std::move(*above);
  }
  // Another process may create the same folder at the same time. If the folder exists already, its parent is
  // still returned: this process must sync the parent, so that the folder survives a power cut.
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    const int number = errno;
    const Error refused = system_error(number, "creating folder " + folder.string());
    return number == EACCES || number == EPERM ? add_write_permission_hint(refused, parent_of(folder))
                                               : refused;
  }
  parents.push_back(parent_of(folder));
  return parents;
}

Result<void> create_folders(const fs::path& folder) {
  const auto parents = make_folders(folder);
  if (!parents) return parents.error();
  for (const fs::path& parent : *parents)
    if (auto synced = sync_folder(parent); !synced) return synced;
  return {};
}

}  // namespace ratoon
