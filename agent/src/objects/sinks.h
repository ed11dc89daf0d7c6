// These sinks write the bytes of an object to memory, or to a file, beginning at offset 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/src/objects/object_store.h"

namespace ratoon::objects {

class MemorySink final : public ObjectSink {
 public:
  // The sink returns an error after `bytes_max` bytes, so that a large object cannot take all memory of the
  // process.
  explicit MemorySink(std::uint64_t bytes_max = std::uint64_t{1} << 30) : bytes_max_(bytes_max) {}

  [[nodiscard]] Result<void> begin(const ObjectInfo& object) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::uint64_t bytes_max_;
  std::string bytes_;
};

// The sink neither closes nor syncs the file; the caller must do both. The sink does not truncate the file,
// so the old end of a longer file stays.
class FileSink final : public ObjectSink {
 public:
  // `shown` is the name of the file for error messages. The sink returns an error if the object has more than
  // `bytes_max` bytes.
  FileSink(int fd, std::string shown, std::uint64_t bytes_max)
      : fd_(fd), display_name_(std::move(shown)), bytes_max_(bytes_max) {}

  [[nodiscard]] Result<void> begin(const ObjectInfo& object) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;

  [[nodiscard]] std::uint64_t written_bytes() const { return written_bytes_; }

 private:
  const int fd_;
  const std::string display_name_;
  const std::uint64_t bytes_max_;
  std::uint64_t written_bytes_ = 0;
};

}  // namespace ratoon::objects
