// Constants of zip files, with the names of PKWARE's APPNOTE.TXT 6.3.10.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ratoon::checkpoint::zip {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50;
inline constexpr std::uint32_t kDataDescriptor = 0x08074b50;
inline constexpr std::uint32_t kCentralHeader = 0x02014b50;
inline constexpr std::uint32_t kEnd64 = 0x06064b50;
inline constexpr std::uint32_t kEnd64Locator = 0x07064b50;
inline constexpr std::uint32_t kEnd = 0x06054b50;

inline constexpr std::size_t kLocalHeaderBytes = 30;
inline constexpr std::size_t kCentralHeaderBytes = 46;
inline constexpr std::size_t kEnd64Bytes = 56;
inline constexpr std::size_t kEnd64LocatorBytes = 20;
inline constexpr std::size_t kEndBytes = 22;

inline constexpr std::uint16_t kHasDescriptor = 0x0008;  // sizes and CRC follow the data
inline constexpr std::uint16_t kNamesAreUtf8 = 0x0800;

inline constexpr std::uint16_t kExtra64 = 0x0001;
inline constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // the number is in the extra field
inline constexpr std::uint16_t kEntriesIn64 = 0xFFFF;

}  // namespace ratoon::checkpoint::zip
