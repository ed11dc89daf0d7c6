// What several messages have in common, to and from JSON.
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

// What is said, within its bounds. The sentence that people read, or `otherwise` where there is none:
[[nodiscard]] std::string sentence(std::string_view text, std::string_view otherwise);
// 0 for what is no span of time.
[[nodiscard]] double told_seconds(double seconds);
template <class T>
[[nodiscard]] std::span<const T> first_of(const std::vector<T>& list, std::size_t items_max) {
  return std::span(list).first(std::min(list.size(), items_max));
}

// host:port, or [v6]:port. Whether the host can be reached is for the one who connects to find out.
[[nodiscard]] std::string read_address(Fields& fields, const char* name);
// Hexadecimal digits, which no complaint repeats.
[[nodiscard]] std::string read_secret(Fields& fields, const char* name);
[[nodiscard]] std::uint32_t small(Fields& fields, const char* name, std::uint32_t max = kWorldMax);

}  // namespace ratoon::contract
