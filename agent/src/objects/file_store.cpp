#include "agent/src/objects/file_store.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ratoon/atomic_file.h>

#include "agent/src/objects/file_upload.h"
#include "agent/src/objects/folder_walk.h"
#include "agent/src/objects/object_key.h"
#include "base/core/atomic_fill.h"
#include "base/core/unique_fd.h"

namespace ratoon::objects {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadPieceBytes = 1024 * 1024;

Error cancelled_error(const std::string& work) {
  return {ErrorKind::kCancelled, work + " was cancelled"};
}

struct OpenObject {
  UniqueFd fd;
  ObjectInfo info;
};

Result<OpenObject> open_object(const fs::path& path, std::string_view key, const std::string& uri) {
  // Without the flag O_NONBLOCK, opening a named pipe would wait until another process opens its other end.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return system_error(errno, "opening " + uri);
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0) return system_error(errno, "reading the size of " + uri);
  if (!S_ISREG(facts.st_mode)) return Error(ErrorKind::kNotFound, uri + " is a folder or device, not a file");
  return OpenObject{std::move(fd),
                    {.key = std::string(key), .size_bytes = static_cast<std::uint64_t>(facts.st_size)}};
}

Result<ByteRange> resolve_range(const std::optional<ByteRange>& range, std::uint64_t size,
                                const std::string& uri) {
  if (!range) return ByteRange{0, size};
  if (range->begin >= range->end || range->begin >= size) {
    return Error(ErrorKind::kInvalid, "the bytes from " + std::to_string(range->begin) + " up to " +
                                          std::to_string(range->end) + " of " + uri +
                                          " were requested, but the object has " + std::to_string(size));
  }
  return ByteRange{range->begin, std::min(range->end, size)};
}

Result<void> copy_to_sink(int fd, ByteRange range, ObjectSink& sink, const std::stop_token& stop,
                          const std::string& uri) {
  std::string piece(std::min<std::uint64_t>(kReadPieceBytes, range.end - range.begin), '\0');
  for (std::uint64_t at = range.begin; at < range.end;) {
    if (stop.stop_requested()) return cancelled_error("reading " + uri);
    const std::size_t wanted = std::min<std::uint64_t>(piece.size(), range.end - at);
    const ssize_t count = ::pread(fd, piece.data(), wanted, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "reading " + uri);
    if (count == 0) {
      return Error(ErrorKind::kCorrupted, uri + " became shorter while it was read: " + std::to_string(at) +
                                              " bytes instead of " + std::to_string(range.end));
    }
    const auto taken = sink.write(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
    if (!taken) return taken.error().with_context("reading " + uri);
    at += static_cast<std::uint64_t>(count);
  }
  return {};
}

// Returns true if the file is a temporary file that a killed process left. A temporary file is not an object,
// so it is not listed.
bool is_temporary(const std::string& name) {
  return !target_name_of_temporary(name).empty();
}

}  // namespace

Result<ObjectInfo> FileStore::get(std::string_view key, ObjectSink& sink, const GetOptions& options) {
  if (auto checked = check_key(key, uri_); !checked) return checked.error();
  const std::string uri = join_uri(uri_, key);
  auto object = open_object(folder_ / key, key, uri);
  if (!object) return object.error();
  const auto range = resolve_range(options.range, object->info.size_bytes, uri);
  if (!range) return range.error();
  if (auto begun = sink.begin(object->info); !begun) return begun.error();
  if (auto copied = copy_to_sink(object->fd.get(), *range, sink, options.stop, uri); !copied)
    return copied.error();
  return std::move(object->info);
}

Result<ObjectInfo> FileStore::head(std::string_view key, std::stop_token) {
  if (auto checked = check_key(key, uri_); !checked) return checked.error();
  auto object = open_object(folder_ / key, key, join_uri(uri_, key));
  if (!object) return object.error();
  return std::move(object->info);
}

Result<void> FileStore::put(std::string_view key, std::string_view bytes, const PutOptions& options) {
  if (auto checked = check_key(key, uri_); !checked) return checked;
  const fs::path path = folder_ / key;
  return write_into_folder(path,
                           [&] { return save_file_atomically(path, bytes, {.replaces = options.replaces}); });
}

Result<UploadedObject> FileStore::upload(std::string_view key, ObjectSource& source,
                                         const UploadOptions& options) {
  if (auto checked = check_key(key, uri_); !checked) return checked.error();
  return upload_file(folder_ / key, source, options, join_uri(uri_, key));
}

Result<std::uint64_t> FileStore::abort_stale_uploads(std::string_view prefix, Duration older_than,
                                                     std::stop_token stop) {
  if (auto checked = check_prefix(prefix, uri_); !checked) return checked.error();
  return remove_temporary_files(folder_, prefix, older_than, uri_, stop);
}

Result<ObjectPage> FileStore::list(std::string_view prefix, std::string_view, std::stop_token stop) {
  if (auto checked = check_prefix(prefix, uri_); !checked) return checked.error();
  // Start the search in the last folder that `prefix` names completely, because this folder contains all
  // matching objects.
  const std::size_t slash = prefix.rfind('/');
  const fs::path top = slash == std::string_view::npos ? folder_ : folder_ / prefix.substr(0, slash);
  ObjectPage page;
  const auto note = [&](const fs::directory_entry& entry) -> Result<void> {
    if (stop.stop_requested()) return cancelled_error("listing " + uri_);
    std::error_code vanished;
    if (!entry.is_regular_file(vanished) || is_temporary(entry.path().filename().string())) return {};
    const std::string key = entry.path().lexically_relative(folder_).generic_string();
    const std::uint64_t size = entry.file_size(vanished);
    if (!vanished && key.starts_with(prefix)) page.objects.push_back({.key = key, .size_bytes = size});
    return {};
  };
  if (auto walked = walk_folder(top, LinkHandling::kFollowed, "listing " + uri_, note); !walked)
    return walked.error();
  std::sort(page.objects.begin(), page.objects.end(),
            [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; });
  return page;
}

Result<void> FileStore::remove(std::string_view key, std::stop_token) {
  if (auto checked = check_key(key, uri_); !checked) return checked;
  const fs::path path = folder_ / key;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_error(errno, "removing " + join_uri(uri_, key));
  }
  // Remove each folder together with its last object, because an object store has no empty folders. Stop at
  // the first folder that is not empty.
  for (std::size_t end = key.rfind('/'); end != std::string_view::npos; end = key.rfind('/', end - 1))
    if (::rmdir((folder_ / key.substr(0, end)).c_str()) != 0) break;
  return {};
}

std::optional<fs::path> FileStore::local_path(std::string_view key) const {
  if (!check_key(key, uri_)) return std::nullopt;
  return folder_ / key;
}

}  // namespace ratoon::objects
