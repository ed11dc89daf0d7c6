// These sources supply the bytes of an object from memory, or from a file, beginning at offset 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "agent/src/objects/object_store.h"

namespace ratoon::objects {

class MemorySource final : public ObjectSource {
 public:
  // The source does not copy `bytes`, so the caller must keep them until the source is destroyed.
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return bytes_.size(); }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<char> into) override;

 private:
  const std::string_view bytes_;
};

// The source reads the file but does not close it. If the file becomes shorter than `size_bytes`, read()
// returns kCorrupted.
class FileSource final : public ObjectSource {
 public:
  // `shown` is the name of the file for error messages.
  FileSource(int fd, std::string shown, std::uint64_t size_bytes)
      : fd_(fd), display_name_(std::move(shown)), size_bytes_(size_bytes) {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return size_bytes_; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<char> into) override;

 private:
  const int fd_;
  const std::string display_name_;
  const std::uint64_t size_bytes_;
};

// Returns an error if the checksum of a source's bytes differs from the expected checksum.
[[nodiscard]] Result<void> check_source_crc32c(std::optional<std::uint32_t> expected_crc32c,
                                               std::uint32_t crc32c, std::string_view uri);

}  // namespace ratoon::objects
