// Writes checksums in the form that S3 uses: in base64, with the most significant byte first. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ratoon::objects {

// Returns the checksum of one part, or of a whole object ("FULL_OBJECT").
[[nodiscard]] std::string checksum_text(std::uint32_t crc32c);

// Returns the checksum of a multipart object in S3's older form ("COMPOSITE"), the only form that some
// servers support. It consists of the checksum of the parts' checksums, and the number of parts.
[[nodiscard]] std::string composite_checksum_text(const std::vector<std::uint32_t>& crc32c_of_parts);

}  // namespace ratoon::objects
