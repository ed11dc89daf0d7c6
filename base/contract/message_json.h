// Converts each message to a JSON object without the contract's version; the codec adds the version.
#pragma once

#include <nlohmann/json.hpp>

#include "base/contract/fields.h"
#include "base/contract/messages.h"

namespace ratoon::contract {

[[nodiscard]] nlohmann::json to_json(const JoinRequest& message);
[[nodiscard]] nlohmann::json to_json(const Assignment& message);
[[nodiscard]] nlohmann::json to_json(const JoinReply& message);
[[nodiscard]] nlohmann::json to_json(const Heartbeat& message);
[[nodiscard]] nlohmann::json to_json(const OrdersRequest& message);
[[nodiscard]] nlohmann::json to_json(const Orders& message);
[[nodiscard]] nlohmann::json to_json(const Completed& message);
[[nodiscard]] nlohmann::json to_json(const CompletionRecord& message);
[[nodiscard]] nlohmann::json to_json(const Refusal& message);

// Reads `message` from `fields`; the first invalid field sets the complaint of `fields`.
void read(Fields& fields, JoinRequest& message);
void read(Fields& fields, Assignment& message);
void read(Fields& fields, JoinReply& message);
void read(Fields& fields, Heartbeat& message);
void read(Fields& fields, OrdersRequest& message);
void read(Fields& fields, Orders& message);
void read(Fields& fields, Completed& message);
void read(Fields& fields, CompletionRecord& message);
void read(Fields& fields, Refusal& message);

}  // namespace ratoon::contract
