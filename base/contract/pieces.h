// The parts that several messages share, to and from JSON.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contract/fields.h"
#include "base/contract/limits.h"
#include "base/contract/messages.h"

namespace ratoon::contract {

[[nodiscard]] nlohmann::json to_json(const ProcessIdentity& process);
[[nodiscard]] nlohmann::json to_json(const InventoryEntry& entry);
[[nodiscard]] nlohmann::json to_json(const Outlook& outlook);
[[nodiscard]] nlohmann::json to_json(const ResumePoint& checkpoint);

[[nodiscard]] ProcessIdentity read_process(Fields& message);
[[nodiscard]] InventoryEntry read_inventory_entry(Fields entry);
[[nodiscard]] Outlook read_outlook(Fields outlook);
[[nodiscard]] ResumePoint read_resume_point(Fields checkpoint);

// The text as UTF-8 within its bound, or `otherwise` if it is empty:
[[nodiscard]] std::string sentence(std::string_view text, std::string_view otherwise);
// Bounded to 10 years; 0 for a negative number and for NaN.
[[nodiscard]] double bounded_seconds(double seconds);
template <class T>
[[nodiscard]] std::span<const T> first_of(const std::vector<T>& list, std::size_t items_max) {
  return std::span(list).first(std::min(list.size(), items_max));
}

// host:port, or [v6]:port. Whether the host can be reached is found out by the side that connects.
[[nodiscard]] std::string read_address(Fields& fields, const char* name);
// Reads a secret in hexadecimal digits; no complaint repeats the digits.
[[nodiscard]] std::string read_secret(Fields& fields, const char* name);
[[nodiscard]] std::uint32_t small(Fields& fields, const char* name, std::uint32_t max = kWorldMax);

}  // namespace ratoon::contract
