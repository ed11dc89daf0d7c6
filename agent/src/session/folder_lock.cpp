#include "agent/src/session/folder_lock.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>

namespace ratoon::session {

Result<UniqueFd> lock_folder(const Options& options, FolderUse use) {
  const auto folder = std::filesystem::path(options.save_folder) / options.run_name;
  const std::string path = (folder / "lock").string();
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.is_open()) return system_error(errno, "opening " + path);
  if (::flock(lock.get(), (use == FolderUse::kAlone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    return Error(ErrorKind::kAlreadyExists, "another process trains in " + folder.string() +
                                                ": wait for it, end it, or use another --run-name");
  }
  return lock;
}

}  // namespace ratoon::session
