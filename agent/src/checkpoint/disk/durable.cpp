#include "agent/src/checkpoint/disk/durable.h"

#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {
namespace {

Result<void> write_temporary(Disk& disk, const std::string& temporary, std::string_view bytes,
                             Durability lasts) {
  auto file = create_temporary(disk, temporary);
  if (!file) return file.error();
  if (auto reserved = (*file)->reserve(bytes.size()); !reserved) return reserved;
  if (auto written = (*file)->write(0, std::as_bytes(std::span(bytes))); !written) return written;
  if (lasts == Durability::kSurvivesPowerCuts) {
    if (auto synced = (*file)->sync(); !synced) return synced;
  }
  return (*file)->close();
}

}  // namespace

bool failed_with(const Result<void>& result, ErrorKind kind) {
  return !result && result.error().kind() == kind;
}

// Syncs every folder of the path from the top, also folders that already exist: the process that created a
// folder may have died, or failed, before it synced the folder's name.
Result<void> make_folders(Disk& disk, const std::string& path, Durability lasts) {
  if (path.empty()) return {};
  const std::string above = folder_of(path);
  if (auto parents = make_folders(disk, above, lasts); !parents) return parents;
  const auto made = disk.make_folder(path);
  if (!made && !failed_with(made, ErrorKind::kAlreadyExists)) return made;
  return lasts == Durability::kSurvivesPowerCuts ? disk.sync_folder(above) : Result<void>();
}

Result<std::unique_ptr<WriteFile>> create_temporary(Disk& disk, const std::string& temporary) {
  auto file = disk.create(temporary);
  if (file || file.error().kind() != ErrorKind::kAlreadyExists) return file;
  const auto removed = disk.remove(temporary);
  const bool is_gone = removed || failed_with(removed, ErrorKind::kNotFound);
  if (is_gone) file = disk.create(temporary);
  if (file) return file;
  const Error& why = is_gone ? file.error() : removed.error();
  // Return kIo and not kAlreadyExists if the temporary file cannot be replaced: for callers, kAlreadyExists
  // means that a file with the final name exists.
  const ErrorKind kind = why.kind() == ErrorKind::kAlreadyExists ? ErrorKind::kIo : why.kind();
  return Error(kind, disk.shown(temporary) +
                         " is left over from an earlier try and cannot be replaced: " + why.message());
}

Result<void> rename_durably(Disk& disk, const std::string& temporary, const std::string& path) {
  if (auto renamed = disk.rename_no_replace(temporary, path); !renamed) return renamed;
  return disk.sync_folder(folder_of(path));
}

Result<void> save_durably(Disk& disk, const std::string& path, std::string_view bytes,
                          std::string_view mark) {
  const std::string temporary = temporary_path(path, mark);
  auto saved = write_temporary(disk, temporary, bytes, Durability::kSurvivesPowerCuts);
  if (saved) saved = rename_durably(disk, temporary, path);
  if (!saved) static_cast<void>(disk.remove(temporary));
  return saved;
}

Result<void> save_without_sync(Disk& disk, const std::string& path, std::string_view bytes,
                               std::string_view mark) {
  const std::string temporary = temporary_path(path, mark);
  auto saved = write_temporary(disk, temporary, bytes, Durability::kNotDurable);
  if (saved) saved = disk.rename_no_replace(temporary, path);
  if (!saved) static_cast<void>(disk.remove(temporary));
  return saved;
}

Result<void> move_durably(Disk& disk, const std::string& from, const std::string& to, std::uint64_t bytes_max,
                          std::string_view mark) {
  const auto bytes = read_whole_file(disk, from, bytes_max);
  if (!bytes) return bytes.error();
  const auto copied = save_durably(disk, to, *bytes, mark);
  if (!copied && !failed_with(copied, ErrorKind::kAlreadyExists)) return copied;
  // If the copy exists already, sync its folder: the process that made the copy may have died before it
  // synced the copy's name.
  if (!copied) {
    if (auto synced = disk.sync_folder(folder_of(to)); !synced) return synced;
  }
  const auto removed = disk.remove(from);
  if (!removed && !failed_with(removed, ErrorKind::kNotFound)) return removed;
  return disk.sync_folder(folder_of(from));
}

Result<std::vector<DiskEntry>> list_if_there(const Disk& disk, const std::string& folder) {
  auto entries = disk.list(folder);
  if (!entries && entries.error().kind() == ErrorKind::kNotFound) return std::vector<DiskEntry>();
  return entries;
}

void drop_from_page_cache(const Disk& disk, const std::string& path) {
  if (const auto file = disk.open(path)) (*file)->drop_from_page_cache();
}

bool is_file_missing(const Disk& disk, const std::string& path) {
  const auto file = disk.open(path);
  return !file && file.error().kind() == ErrorKind::kNotFound;
}

Result<std::string> read_whole_file(const Disk& disk, const std::string& path, std::uint64_t bytes_max) {
  const auto file = disk.open(path);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  if (*size > bytes_max) {
    return Error(ErrorKind::kCorrupted, disk.shown(path) + " has " + std::to_string(*size) +
                                            " bytes, and a file of this kind has at most " +
                                            std::to_string(bytes_max));
  }
  std::string bytes(*size, '\0');
  if (auto read = (*file)->read(0, std::as_writable_bytes(std::span(bytes))); !read) return read.error();
  return bytes;
}

}  // namespace ratoon::checkpoint
