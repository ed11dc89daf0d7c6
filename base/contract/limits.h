// Size limits for the parts of a message, so that no sender can make the receiver use unlimited memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ratoon::contract {

inline constexpr std::size_t kNameBytesMax = 253;
inline constexpr std::size_t kAddressBytesMax = 256;
inline constexpr std::size_t kDigestBytesMax = 128;
inline constexpr std::size_t kLocationBytesMax = 4096;  // of a path, or of a URL
inline constexpr std::size_t kSecretDigitsMin = 32;
inline constexpr std::size_t kSecretDigitsMax = 128;
inline constexpr std::size_t kMessageTextBytesMax = 1024;
inline constexpr std::size_t kInventoryEntriesMax = 64;
inline constexpr std::size_t kResultNumbersMax = 16;
inline constexpr double kSecondsMax = 10.0 * 365 * 24 * 3600;
inline constexpr std::uint32_t kWorldSizeMax = 65536;
inline constexpr std::uint64_t kExactJsonIntegerMax =
    (1ULL << 53) - 1;  // every JSON reader keeps these numbers exactly
inline constexpr std::uint64_t kSkippedSamplesMax = 1ULL << 62;  // the limit of the flag --skip
inline constexpr std::uint64_t kThreadsMax = 1ULL << 16;
inline constexpr std::uint64_t kAttemptMax = 1'000'000'000;  // of a past attempt: the next one is greater

}  // namespace ratoon::contract
