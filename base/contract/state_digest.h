// The digest that a state of one line of JSON contains of itself: it protects every byte, also where a
// program keeps the state in a file of its own. Pure.
//
//   return seal_state({{"format", 1}, {"epoch", 2}});  // {"epoch":2,"format":1,"state_digest":"..."}
//
//   const auto body = parse_json(text, bytes_max, depth_max);
//   if (const std::string damage = find_damage(text, *body, {"format", "epoch"}); !damage.empty()) ...
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ratoon {

// The digest is that of the text without the digest: hash(0, text) of docs/reference/stream.md.
[[nodiscard]] std::string seal_state(nlohmann::json body);

// Explains the damage of a text; empty if it is as it was written. `old_fields` are the fields of states from
// before the digest existed, which have none. Damage cannot turn a state with a digest into one of those,
// unless it removes the whole digest.
[[nodiscard]] std::string find_damage(std::string_view text, const nlohmann::json& body,
                                      std::initializer_list<std::string_view> old_fields);

}  // namespace ratoon
