// The name of a directory shows whether it is finished: "<prefix>7" is finished, and "<prefix>7.unfinished"
// is not. A directory with a finished name may still be unfinished if its number is greater than the number
// of the directory that the link names. If a temporary link names this directory, prepare() removes the
// directory, because a save was interrupted after it renamed the directory and before it replaced the link.
// If no temporary link names the directory, prepare() keeps it, because a user may have set the link back, or
// cycling_utils has not filled the directory yet.
//
// finalize() syncs all files of the directory and then their folders. Next, finalize() makes the new link
// under a temporary name, renames the directory and replaces the link, and syncs the folder after each of
// these steps. If no directory is finished yet, finalize() replaces the link before it renames the directory.
// In the reverse order, an interruption between the two steps could leave a directory that has a finished
// name but no link.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include "agent/src/checkpoint/atomic_directory/atomic_directory_entry.h"
#include "agent/src/checkpoint/atomic_directory/folder_tree.h"
#include "base/core/atomic_fill.h"
#include "base/core/durable_folder.h"
#include "base/core/random_name.h"

namespace ratoon {

namespace fs = std::filesystem;
using namespace folder_tree;  // NOLINT

namespace {

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

// Rank 0 throws an error that occurs between two barriers only after the second barrier, so that all ranks
// pass the same number of barriers. Ranks other than 0 look for the directory or the link that rank 0 should
// have made, and throw their own error if it does not exist.
template <class Work>
std::exception_ptr catch_exception(const Work& work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// Removes a directory that an earlier save left at this path: other ranks would mistake it for the new
// directory.
void remove_leftover_directory(const fs::path& directory) {
  std::error_code ignored;
  if (is_directory_itself(directory)) fs::remove_all(directory, ignored);
}

}  // namespace

AtomicDirectory::AtomicDirectory(fs::path folder, AtomicDirectoryOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (!is_plain_name(options_.prefix) || !is_plain_name(options_.link))
    throw std::invalid_argument(
        "AtomicDirectory: prefix and link must be names without '/', and not empty, '.' or '..', found '" +
        options_.prefix + "' and '" + options_.link + "'");
  throw_if_failed(create_folders(folder_));
}

void AtomicDirectory::wait_for_all() const {
  if (options_.barrier) options_.barrier();
}

// Removes the directory that a temporary link names before it removes the link: without its temporary link,
// the unfinished directory would look finished.
void AtomicDirectory::remove_unfinished(const std::optional<Entry>& unlinked) const {
  if (unlinked) remove_tree(folder_ / unlinked->name);
  for (const fs::path& path : list_entries(folder_)) {
    const std::string name = path.filename().string();
    const auto other = parse(name);
    const bool is_unfinished = other && other->is_unfinished && is_directory_itself(path);
    const bool is_links = target_name_of_temporary(name) == options_.link && is_link(path);
    if (is_unfinished || is_links) remove_tree(path);
  }
}

fs::path AtomicDirectory::prepare() const {
  wait_for_all();
  const Entry found = find();
  const auto unlinked = find_unlinked(found);
  const std::uint64_t number = found.name.empty() ? 0 : found.number + 1;
  const fs::path directory =
      folder_ / (options_.prefix + std::to_string(number) + std::string(kUnfinishedEnding));
  wait_for_all();  // all ranks have read the folder before rank 0 removes anything
  std::exception_ptr error;
  if (options_.rank == 0) {
    error = catch_exception([&] {
      remove_unfinished(unlinked);
      std::error_code code;
      fs::create_directory(directory, code);
      throw_if_failed(code, "creating " + directory.string());
    });
    if (error) remove_leftover_directory(directory);
  }
  wait_for_all();
  if (error) std::rethrow_exception(error);
  if (is_link(directory))
    throw_failure(ExitCode::kConfiguration,
                  directory.string() +
                      " is a link, and links here are not followed: remove it, and call "
                      "prepare() again");
  if (!is_directory_itself(directory))
    throw_failure(ExitCode::kStorage,
                  directory.string() +
                      " does not exist: rank 0 did not create it; see the error of rank 0, or put "
                      "its folder on a volume that all ranks share");
  return directory;
}

fs::path AtomicDirectory::make_link(const std::string& name) const {
  const fs::path temporary = folder_ / ("." + options_.link + ".tmp-" + random_hex_name());
  std::error_code code;
  fs::create_directory_symlink(name, temporary, code);
  throw_if_failed(code, "creating the link " + temporary.string());
  throw_if_failed(sync_folder(folder_));
  return temporary;
}

void AtomicDirectory::replace_link(const fs::path& made) const {
  const fs::path link = folder_ / options_.link;
  if (::rename(made.c_str(), link.c_str()) != 0)
    throw_if_failed(Result<void>(system_error(errno, "replacing the link " + link.string())));
  throw_if_failed(sync_folder(folder_));
}

void AtomicDirectory::give_name(const fs::path& directory, const std::string& name) const {
  if (::rename(directory.c_str(), (folder_ / name).c_str()) != 0)
    throw_if_failed(Result<void>(system_error(errno, "renaming " + directory.string() + " to " + name)));
  throw_if_failed(sync_folder(folder_));
}

// Ignores errors of the removal: the new directory is already finished, and the next finalize() removes the
// old directories that remain.
void AtomicDirectory::remove_old(std::uint64_t newest) const {
  if (options_.keep == 0) return;
  std::vector<Entry> old = finished();
  std::erase_if(old, [&](const Entry& one) { return one.is_pinned || one.number > newest; });
  for (std::size_t i = options_.keep; i < old.size(); ++i) {
    const fs::path path = folder_ / old[i].name;
    const fs::path leaving = path.string() + std::string(kUnfinishedEnding);
    std::error_code ignored;
    fs::rename(path, leaving, ignored);  // a partly removed directory must not look finished
    fs::remove_all(leaving, ignored);
  }
}

fs::path AtomicDirectory::finalize(const fs::path& directory) const {
  const auto parsed = parse(directory.filename().string());
  if (!parsed || !parsed->is_unfinished)
    throw std::invalid_argument(
        "AtomicDirectory::finalize() takes the path that prepare() returned, found '" + directory.string() +
        "'");
  const std::string name = parsed->name.substr(0, parsed->name.size() - kUnfinishedEnding.size());
  sync_tree(directory);
  wait_for_all();
  std::exception_ptr error;
  if (options_.rank == 0) {
    error = catch_exception([&] {
      const bool is_first = !find().link_target_exists;
      const fs::path link = make_link(name);
      if (is_first) replace_link(link);
      give_name(directory, name);
      if (!is_first) replace_link(link);
      remove_old(parsed->number);
    });
  }
  wait_for_all();
  if (error) std::rethrow_exception(error);
  const fs::path finished = folder_ / name;
  if (!is_directory_itself(finished))
    throw_failure(ExitCode::kStorage,
                  finished.string() +
                      " does not exist: rank 0 did not give the new directory this name; see the "
                      "error of rank 0, or put the folder on a volume that all ranks share");
  return finished;
}

}  // namespace ratoon
