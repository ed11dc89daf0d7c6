// Where an object's bytes go: into memory, or into a file from its beginning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/src/objects/object_store.h"

namespace ratoon::objects {

class MemorySink final : public ObjectSink {
 public:
  // A longer object, or part of one, is an error: what others store must not fill our memory.
  explicit MemorySink(std::uint64_t bytes_max = std::uint64_t{1} << 30) : bytes_max_(bytes_max) {}

  [[nodiscard]] Result<void> begin(const ObjectInfo& object) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::uint64_t bytes_max_;
  std::string bytes_;
};

// The file is its owner's: it is neither closed nor synced here. Bytes behind those that were written stay.
class FileSink final : public ObjectSink {
 public:
  // `shown` names the file in messages. More than `bytes_max` is an error.
  FileSink(int fd, std::string shown, std::uint64_t bytes_max)
      : fd_(fd), shown_(std::move(shown)), bytes_max_(bytes_max) {}

  [[nodiscard]] Result<void> begin(const ObjectInfo& object) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;

  [[nodiscard]] std::uint64_t written_bytes() const { return written_bytes_; }

 private:
  const int fd_;
  const std::string shown_;
  const std::uint64_t bytes_max_;
  std::uint64_t written_bytes_ = 0;
};

}  // namespace ratoon::objects
