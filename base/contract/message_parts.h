// Converts structs that occur in several messages to JSON and back.
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
[[nodiscard]] nlohmann::json to_json(const ProgressEstimate& outlook);
[[nodiscard]] nlohmann::json to_json(const ResumePoint& checkpoint);

[[nodiscard]] ProcessIdentity read_process(Fields& message);
[[nodiscard]] InventoryEntry read_inventory_entry(Fields entry);
[[nodiscard]] ProgressEstimate read_outlook(Fields outlook);
[[nodiscard]] ResumePoint read_resume_point(Fields checkpoint);

// Returns `text` as UTF-8, cut to the length limit of texts. Returns `otherwise` if `text` is empty.
[[nodiscard]] std::string bounded_text(std::string_view text, std::string_view otherwise);
// Limits a number of seconds to 10 years; a negative number and NaN become 0.
[[nodiscard]] double bounded_seconds(double seconds);
template <class T>
[[nodiscard]] std::span<const T> first_items(const std::vector<T>& list, std::size_t items_max) {
  return std::span(list).first(std::min(list.size(), items_max));
}

// Reads host:port or [v6]:port. Checks only the address's syntax, not whether the host can be reached.
[[nodiscard]] std::string read_address(Fields& fields, const char* name);
// Reads a secret in hexadecimal digits; no complaint repeats the digits.
[[nodiscard]] std::string read_secret(Fields& fields, const char* name);
[[nodiscard]] std::uint32_t read_uint32(Fields& fields, const char* name, std::uint32_t max = kWorldSizeMax);

}  // namespace ratoon::contract
