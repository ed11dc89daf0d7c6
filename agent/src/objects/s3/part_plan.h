// How a large object is cut into parts, after S3's rules. Pure.
#pragma once

#include <cstdint>

#include <ratoon/result.h>

namespace ratoon::objects {

struct PartPlan {
  std::uint64_t size_bytes = 0;
  std::uint64_t part_bytes = 0;  // of all but the last, which has what is left
  std::uint32_t count = 0;       // 1: no parts at all, the object goes in one request

  [[nodiscard]] std::uint64_t begin(std::uint32_t index) const { return index * part_bytes; }
  [[nodiscard]] std::uint64_t bytes(std::uint32_t index) const {
    return index + 1 < count ? part_bytes : size_bytes - begin(index);
  }

  friend bool operator==(const PartPlan&, const PartPlan&) = default;
};

// At least 5 MiB each but for the last, at most 5 GiB, at most 10,000 of them.
[[nodiscard]] Result<PartPlan> plan_parts(std::uint64_t size_bytes, std::uint64_t wanted_part_bytes);

}  // namespace ratoon::objects
