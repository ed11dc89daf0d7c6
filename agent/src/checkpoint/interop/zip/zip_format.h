// Constants of zip files, with the names of PKWARE's APPNOTE.TXT 6.3.10.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ratoon::checkpoint::zip {

inline constexpr std::uint32_t kLocalHeaderSignature = 0x04034b50;
inline constexpr std::uint32_t kDataDescriptorSignature = 0x08074b50;
inline constexpr std::uint32_t kCentralHeaderSignature = 0x02014b50;
inline constexpr std::uint32_t kZip64EndSignature = 0x06064b50;
inline constexpr std::uint32_t kZip64LocatorSignature = 0x07064b50;
inline constexpr std::uint32_t kEndSignature = 0x06054b50;

inline constexpr std::size_t kLocalHeaderBytes = 30;
inline constexpr std::size_t kCentralHeaderBytes = 46;
inline constexpr std::size_t kZip64EndBytes = 56;
inline constexpr std::size_t kZip64LocatorBytes = 20;
inline constexpr std::size_t kEndBytes = 22;

inline constexpr std::uint16_t kHasDescriptor = 0x0008;  // sizes and CRC follow the data
inline constexpr std::uint16_t kNamesAreUtf8 = 0x0800;

inline constexpr std::uint16_t kZip64ExtraId = 0x0001;
inline constexpr std::uint32_t kIsInZip64Field = 0xFFFFFFFF;  // the number is in the extra field
inline constexpr std::uint16_t kEntriesAreInZip64 = 0xFFFF;

}  // namespace ratoon::checkpoint::zip
