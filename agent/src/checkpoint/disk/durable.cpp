#include "agent/src/checkpoint/disk/durable.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::string_view kTemporaryEnding = ".tmp";

bool says(const Result<void>& result, ErrorKind kind) {
  return !result && result.error().kind() == kind;
}

Result<void> write_temporary(Disk& disk, const std::string& temporary, std::string_view bytes, Lasts lasts) {
  auto file = disk.create(temporary);
  if (!file) return file.error();
  if (auto reserved = (*file)->reserve(bytes.size()); !reserved) return reserved;
  if (auto written = (*file)->write(0, std::as_bytes(std::span(bytes))); !written) return written;
  if (lasts == Lasts::kPowerCuts) {
    if (auto synced = (*file)->sync(); !synced) return synced;
  }
  return (*file)->close();
}

}  // namespace

// From the top, those that are there too: whoever made one may have died, or failed, before it synced the
// name.
Result<void> make_folders(Disk& disk, const std::string& path, Lasts lasts) {
  if (path.empty()) return {};
  const std::string above = folder_of(path);
  if (auto parents = make_folders(disk, above, lasts); !parents) return parents;
  const auto made = disk.make_folder(path);
  if (!made && !says(made, ErrorKind::kAlreadyExists)) return made;
  return lasts == Lasts::kPowerCuts ? disk.sync_folder(above) : Result<void>();
}

std::string temporary_path(const std::string& path, std::string_view mark) {
  const std::string folder = folder_of(path);
  const std::string name = folder.empty() ? path : path.substr(folder.size() + 1);
  std::string temporary = folder.empty() ? std::string() : folder + "/";
  temporary += "." + name + ".";
  temporary += mark;
  temporary += kTemporaryEnding;
  return temporary;
}

Result<void> publish(Disk& disk, const std::string& temporary, const std::string& path, IfThere if_there) {
  const auto renamed =
      if_there == IfThere::kRefuse ? disk.rename_new(temporary, path) : disk.rename_over(temporary, path);
  if (!renamed) return renamed;
  return disk.sync_folder(folder_of(path));
}

Result<void> save_durably(Disk& disk, const std::string& path, std::string_view bytes, std::string_view mark,
                          IfThere if_there) {
  const std::string temporary = temporary_path(path, mark);
  auto saved = write_temporary(disk, temporary, bytes, Lasts::kPowerCuts);
  if (saved) saved = publish(disk, temporary, path, if_there);
  if (!saved) static_cast<void>(disk.remove(temporary));
  return saved;
}

Result<void> save_for_now(Disk& disk, const std::string& path, std::string_view bytes,
                          std::string_view mark) {
  const std::string temporary = temporary_path(path, mark);
  auto saved = write_temporary(disk, temporary, bytes, Lasts::kForNow);
  if (saved) saved = disk.rename_new(temporary, path);
  if (!saved) static_cast<void>(disk.remove(temporary));
  return saved;
}

Result<std::string> read_whole(const Disk& disk, const std::string& path, std::uint64_t bytes_max) {
  const auto file = disk.open(path);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  if (*size > bytes_max) {
    return Error(ErrorKind::kCorrupted, disk.shown(path) + " has " + std::to_string(*size) +
                                            " bytes, and none of ours has more than " +
                                            std::to_string(bytes_max));
  }
  std::string bytes(*size, '\0');
  if (auto read = (*file)->read(0, std::as_writable_bytes(std::span(bytes))); !read) return read.error();
  return bytes;
}

}  // namespace ratoon::checkpoint
