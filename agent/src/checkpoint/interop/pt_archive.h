// Opens a torch.save file and returns its records. open_archive() verifies the checksum of every record.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

struct PtArchive {
  std::string folder;  // all records are in it; names in `records` omit it
  std::map<std::string, std::span<const std::byte>, std::less<>> records;

  // Returns the path of a record in the archive, such as "model/data.pkl", for error messages.
  [[nodiscard]] std::string shown(std::string_view record) const;
};

[[nodiscard]] Result<PtArchive> open_archive(std::span<const std::byte> file, bool checksums_may_be_missing);

}  // namespace ratoon::checkpoint
