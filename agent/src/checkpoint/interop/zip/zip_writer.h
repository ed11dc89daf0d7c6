// ZipWriter: writes a zip file without compression, byte for byte as PyTorch 2.11 does. The data of a record
// begins at a multiple of 64 bytes, sizes and checksums follow the data, and zip64 fields hold numbers over 4
// GiB.
//
//   ZipWriter zip(sink, "archive");
//   zip.begin("data.pkl", pickle.size());
//   zip.append(pickle);
//   zip.end();
//   ...
//   zip.finish();
//
// The writer passes bytes to the sink immediately and does not buffer them. After an error, neither the
// writer nor the bytes in the sink can be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/byte_sink.h"

namespace ratoon::checkpoint {

class ZipWriter final : public ByteSink {
 public:
  // Every record is named "<folder>/<name>".
  ZipWriter(ByteSink& sink, std::string folder) : sink_(sink), folder_(std::move(folder)) {}

  // Begins a record of `size_bytes` bytes; the record before it must have ended. The name of the record must
  // differ from the names of all earlier records.
  [[nodiscard]] Result<void> begin(std::string_view name, std::uint64_t size_bytes);
  // Appends bytes to the current record.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes) override;
  // Ends the current record. Call end() only after all bytes of the record were appended.
  [[nodiscard]] Result<void> end();
  // Writes a whole record: begins it, appends its bytes and ends it.
  [[nodiscard]] Result<void> add(std::string_view name, std::string_view bytes);
  // Writes the zip file's directory after the last record.
  [[nodiscard]] Result<void> finish();

  // The checksums of the records written so far, in the order of the records.
  [[nodiscard]] const std::vector<std::uint32_t>& checksums() const { return checksums_; }

 private:
  struct Record {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t remaining_bytes = 0;
    std::uint32_t crc = 0;
  };

  [[nodiscard]] Result<void> write(std::string_view bytes);
  [[nodiscard]] Error record_still_open_error() const;
  void add_to_directory(const Record& record);

  ByteSink& sink_;
  const std::string folder_;
  std::uint64_t position_ = 0;
  std::uint64_t record_count_ = 0;
  std::optional<Record> open_record_;
  std::string directory_;
  std::vector<std::uint32_t> checksums_;
};

}  // namespace ratoon::checkpoint
