// Divides a large object into parts, according to the rules of S3. Pure.
#pragma once

#include <cstdint>

#include <ratoon/result.h>

namespace ratoon::objects {

struct PartPlan {
  std::uint64_t size_bytes = 0;
  std::uint64_t part_bytes = 0;  // of all parts but the last, which has the rest
  std::uint32_t count = 0;       // 1: the object is sent in one request, without parts

  [[nodiscard]] std::uint64_t begin(std::uint32_t index) const { return index * part_bytes; }
  [[nodiscard]] std::uint64_t bytes(std::uint32_t index) const {
    return index + 1 < count ? part_bytes : size_bytes - begin(index);
  }

  friend bool operator==(const PartPlan&, const PartPlan&) = default;
};

// Plans at most 10,000 parts. Each part has at most 5 GiB, and all parts except the last have at least 5 MiB.
[[nodiscard]] Result<PartPlan> plan_parts(std::uint64_t size_bytes, std::uint64_t wanted_part_bytes);

}  // namespace ratoon::objects
