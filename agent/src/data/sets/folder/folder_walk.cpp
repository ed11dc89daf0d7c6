#include "agent/src/data/sets/folder/folder_walk.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/src/data/sets/folder/python_order.h"
#include "base/core/split_join.h"

namespace ratoon::data {
namespace {

namespace fs = std::filesystem;

struct FolderCloser {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using FolderHandle = std::unique_ptr<DIR, FolderCloser>;

struct FolderListing {
  std::vector<std::string> folders;
  std::vector<std::string> files;  // all entries that are not folders, including dangling links
};

using FileIdentity = std::pair<dev_t, ino_t>;

bool is_folder(DIR* parent, const dirent& entry) {
  if (entry.d_type == DT_DIR) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat status{};
  return ::fstatat(::dirfd(parent), entry.d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

Result<FolderListing> list_folder(const fs::path& path, std::vector<FileIdentity>& around) {
  const std::string doing = "reading the folder " + path.string();
  const FolderHandle folder(::opendir(path.c_str()));
  struct stat status{};
  if (folder == nullptr || ::fstat(::dirfd(folder.get()), &status) != 0) return system_error(errno, doing);
  const FileIdentity identity{status.st_dev, status.st_ino};
  if (std::find(around.begin(), around.end(), identity) != around.end()) {
    return Error(ErrorKind::kInvalid,
                 doing + ": a link leads back to a folder that contains it. Remove the link");
  }
  around.push_back(identity);
  FolderListing found;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return system_error(errno, doing);
    if (entry == nullptr) return found;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    (is_folder(folder.get(), *entry) ? found.folders : found.files).emplace_back(name);
  }
}

bool ends_with_any(std::string_view name, std::span<const std::string> extensions) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::any_of(extensions.begin(), extensions.end(), [&](const std::string& extension) {
    return name.size() >= extension.size() &&
           std::equal(extension.rbegin(), extension.rend(), name.rbegin(),
                      [&](char a, char b) { return lower(a) == lower(b); });
  });
}

struct FoundFolder {
  std::string path;  // below the root
  std::vector<std::string> files;
};

// Collects all folders at and below `path`, in no particular order.
Result<void> collect_folders(const fs::path& root, const std::string& path,
                             std::span<const std::string> extensions, std::vector<FileIdentity>& around,
                             std::vector<FoundFolder>& into) {
  auto listing = list_folder(root / path, around);
  if (!listing) return listing.error();
  std::erase_if(listing->files, [&](const std::string& name) { return !ends_with_any(name, extensions); });
  into.push_back({path, std::move(listing->files)});
  for (const std::string& name : listing->folders) {
    if (auto done = collect_folders(root, path + "/" + name, extensions, around, into); !done) return done;
  }
  around.pop_back();
  return {};
}

}  // namespace

std::string FolderFiles::path(std::uint64_t id) const {
  return folders_[folder_of_file_[id]] + "/" +
         joined_names_.substr(name_offsets_[id], name_offsets_[id + 1] - name_offsets_[id]);
}

std::int64_t FolderFiles::class_index(std::uint64_t id) const {
  const auto after = std::upper_bound(first_file_of_class_.begin(), first_file_of_class_.end(), id);
  return after - first_file_of_class_.begin() - 1;
}

void FolderFiles::begin_class(std::string name) {
  classes_.push_back(std::move(name));
  first_file_of_class_.push_back(size());
}

void FolderFiles::begin_folder(std::string path_below_root) {
  folders_.push_back(std::move(path_below_root));
}

void FolderFiles::add_file(std::string_view name) {
  folder_of_file_.push_back(static_cast<std::uint32_t>(folders_.size() - 1));
  name_offsets_.push_back(joined_names_.size());
  joined_names_ += name;
}

void FolderFiles::finish() {
  first_file_of_class_.push_back(size());
  name_offsets_.push_back(joined_names_.size());
}

Result<FolderFiles> walk_folder(const fs::path& root, FolderWalkOptions options) {
  std::vector<FileIdentity> around;
  auto top = list_folder(root, around);
  if (!top) return top.error();
  if (top->folders.empty()) {
    // Mention volumes in the error, because an empty folder may be the mount point of a volume that is not
    // mounted yet.
    return Error(top->files.empty() ? ErrorKind::kNotFound : ErrorKind::kInvalid,
                 "the folder " + root.string() + " has no folder in it; expected one folder for each class");
  }
  std::sort(top->folders.begin(), top->folders.end(), python_sorts_before);
  FolderFiles files;
  std::vector<std::string> empty_classes;
  for (const std::string& name : top->folders) {
    std::vector<FoundFolder> found;
    if (auto done = collect_folders(root, name, options.extensions, around, found); !done)
      return done.error();
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return python_sorts_before(a.path, b.path); });
    files.begin_class(name);
    const std::uint64_t before = files.size();
    for (FoundFolder& folder : found) {
      std::sort(folder.files.begin(), folder.files.end(), python_sorts_before);
      files.begin_folder(std::move(folder.path));
      for (const std::string& file : folder.files) files.add_file(file);
    }
    if (files.size() == before) empty_classes.push_back(name);
  }
  files.finish();
  if (!empty_classes.empty() && !options.allows_empty_classes) {
    return Error(ErrorKind::kInvalid, "in the folder " + root.string() +
                                          " these classes have no file whose name ends with " +
                                          join(options.extensions, ", ") + ": " + join(empty_classes, ", ") +
                                          ". Remove the class folders, or set allows_empty_classes");
  }
  return files;
}

}  // namespace ratoon::data
