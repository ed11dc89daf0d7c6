// The digest that a state of one line of JSON has of itself: each byte counts, also where a program keeps the
// state in a file of its own. Pure.
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

// The digest is that of the text without it: hash(0, text) of docs/reference/stream.md.
[[nodiscard]] std::string seal_state(nlohmann::json body);

// Why the text is not one that was written; empty: it is. `old_fields` are those of states from before there
// was a digest, which lack it: damage makes none of these of another one, unless it takes the digest away
// whole.
[[nodiscard]] std::string find_damage(std::string_view text, const nlohmann::json& body,
                                      std::initializer_list<std::string_view> old_fields);

}  // namespace ratoon
