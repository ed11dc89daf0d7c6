#include "agent/src/objects/s3/protocol/part_plan.h"

#include <algorithm>
#include <string>

namespace ratoon::objects {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kPartBytesMin = 5 * kMiB;
constexpr std::uint64_t kPartBytesMax = 5 * 1024 * kMiB;
constexpr std::uint64_t kPartsMax = 10'000;

std::uint64_t divide_rounding_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace

Result<PartPlan> plan_parts(std::uint64_t size_bytes, std::uint64_t wanted_part_bytes) {
  const std::uint64_t needed = divide_rounding_up(divide_rounding_up(size_bytes, kPartsMax), kMiB) * kMiB;
  if (needed > kPartBytesMax) {
    return Error(ErrorKind::kInvalid, "an object of " + std::to_string(size_bytes) +
                                          " bytes is more than the " +
                                          std::to_string(kPartsMax * kPartBytesMax) +
                                          " bytes that S3 takes in parts; store it as several objects");
  }
  const std::uint64_t part = std::max(std::clamp(wanted_part_bytes, kPartBytesMin, kPartBytesMax), needed);
  return PartPlan{
      .size_bytes = size_bytes,
      .part_bytes = part,
      .count = std::max<std::uint32_t>(static_cast<std::uint32_t>(divide_rounding_up(size_bytes, part)), 1)};
}

}  // namespace ratoon::objects
