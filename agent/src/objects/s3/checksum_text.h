// Checksums as S3 writes them: base64, the number's highest byte first. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ratoon::objects {

// Of one part, or of a whole object ("FULL_OBJECT").
[[nodiscard]] std::string checksum_text(std::uint32_t crc32c);

// Of an object that was stored in parts by a server that knows the older way ("COMPOSITE") alone: the
// checksum of the parts' checksums, and their number.
[[nodiscard]] std::string composite_checksum_text(const std::vector<std::uint32_t>& crc32c_of_parts);

}  // namespace ratoon::objects
