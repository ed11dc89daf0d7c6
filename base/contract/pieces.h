// What several messages have in common, to and from JSON.
#pragma once

#include <cstdint>
#include <string>

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

// host:port, or [v6]:port. Whether the host can be reached is for the one who connects to find out.
[[nodiscard]] std::string read_address(Fields& fields, const char* name);
// Hexadecimal digits, which no complaint repeats.
[[nodiscard]] std::string read_secret(Fields& fields, const char* name);
[[nodiscard]] std::uint32_t small(Fields& fields, const char* name, std::uint32_t max = kWorldMax);

}  // namespace ratoon::contract
