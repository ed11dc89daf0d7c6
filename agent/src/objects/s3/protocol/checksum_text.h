// Checksums as S3 writes them: base64, most significant byte first. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ratoon::objects {

// The checksum of one part, or of a whole object ("FULL_OBJECT").
[[nodiscard]] std::string checksum_text(std::uint32_t crc32c);

// The checksum of an object in parts on a server that knows only the older form ("COMPOSITE"): the checksum
// of the parts' checksums, and their number.
[[nodiscard]] std::string composite_checksum_text(const std::vector<std::uint32_t>& crc32c_of_parts);

}  // namespace ratoon::objects
