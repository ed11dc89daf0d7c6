#include "agent/src/checkpoint/atomic_directory/folder_tree.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include <ratoon/failure.h>

#include "base/core/durable_folder.h"
#include "base/core/unique_fd.h"

namespace ratoon::folder_tree {

namespace fs = std::filesystem;

namespace {

// A missing file is no error: another rank may be renaming its own file, and that rank syncs it.
void sync_file(const fs::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.is_open() && errno == ENOENT) return;
  if (!fd.is_open() || ::fsync(fd.get()) != 0)
    throw_if_failed(Result<void>(system_error(errno, "syncing " + file.string())));
  throw_if_failed(fd.close());
}

}  // namespace

void throw_failure(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

void throw_if_failed(const Result<void>& done) {
  if (!done) throw_failure(ExitCode::kStorage, done.error().message());
}

void throw_if_failed(const std::error_code& code, const std::string& doing) {
  if (code) throw_failure(ExitCode::kStorage, system_error(code.value(), doing).message());
}

std::vector<fs::path> list_entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
    found.push_back(at->path());
  throw_if_failed(code, "listing " + folder.string());
  return found;
}

bool is_directory_itself(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path, ignored));
}

bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(path, ignored));
}

void sync_tree(const fs::path& folder) {
  for (const fs::path& path : list_entries(folder)) {
    std::error_code code;
    const auto status = fs::symlink_status(path, code);
    if (status.type() == fs::file_type::not_found) continue;
    throw_if_failed(code, "looking at " + path.string());
    if (fs::is_directory(status)) sync_tree(path);
    if (fs::is_regular_file(status)) sync_file(path);
  }
  throw_if_failed(sync_folder(folder));
}

void remove_tree(const fs::path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  throw_if_failed(code, "removing " + path.string());
}

std::string link_target_name(const fs::path& link) {
  std::error_code code;
  const fs::path target = fs::read_symlink(link, code);
  throw_if_failed(code, "reading the link " + link.string());
  return (target.has_filename() ? target : target.parent_path()).filename().string();
}

}  // namespace ratoon::folder_tree
