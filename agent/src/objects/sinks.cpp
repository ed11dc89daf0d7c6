#include "agent/src/objects/sinks.h"

#include <cerrno>

#include <unistd.h>

namespace ratoon::objects {
namespace {

// Makes an error text without the object's name, because the store adds the name.
Error too_long_error(std::uint64_t bytes_max) {
  return {ErrorKind::kCorrupted,
          "the object is longer than the " + std::to_string(bytes_max) +
              " bytes that were expected; check the object, or the index that states its size"};
}

}  // namespace

Result<void> MemorySink::begin(const ObjectInfo&) {
  bytes_.clear();
  return {};
}

Result<void> MemorySink::write(std::string_view bytes) {
  if (bytes.size() > bytes_max_ - bytes_.size()) return too_long_error(bytes_max_);
  bytes_.append(bytes);
  return {};
}

Result<void> FileSink::begin(const ObjectInfo&) {
  written_bytes_ = 0;
  return {};
}

Result<void> FileSink::write(std::string_view bytes) {
  if (bytes.size() > bytes_max_ - written_bytes_) return too_long_error(bytes_max_);
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(written_bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "writing " + display_name_);
    written_bytes_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace ratoon::objects
