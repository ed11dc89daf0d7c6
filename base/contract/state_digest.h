// The digest that a state of one line of JSON contains of itself: it protects every byte, also if a program
// keeps the state in a file of its own. Pure.
//
//   return seal_state({{"epoch", 2}});  // {"epoch":2,"format":2,"state_digest":"..."}
//
//   const auto body = parse_json(text, bytes_max, depth_max);
//   if (const std::string damage = find_damage(text, *body, {"epoch"}); !damage.empty()) ...
//   Fields f(*body, "state", complaint);
//   check_state_format(f);
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ratoon {

class Fields;  // base/contract/fields.h

// Adds the format and the digest. The digest is computed over the text without the digest: hash(0, text) of
// docs/reference/stream.md. The format is 2: a state of this format has a digest, so it is damaged if the
// digest is missing. States of format 1 may be from before the digest existed.
[[nodiscard]] std::string seal_state(nlohmann::json body);

// Explains the damage of a text; empty if the text is intact. `old_fields` are the fields, beside the format,
// of states from before the digest existed. Damage cannot turn a state with a digest into such an old state,
// unless it removes the whole digest of a state of format 1.
[[nodiscard]] std::string find_damage(std::string_view text, const nlohmann::json& body,
                                      std::initializer_list<std::string_view> old_fields);

// Complains about a format that this version does not read.
void check_state_format(Fields& state);

}  // namespace ratoon
