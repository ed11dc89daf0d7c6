// Adds a digest to a state that is one line of JSON: the digest protects every byte, even if a program stores
// the state in a file of its own. Pure.
//
//   return encode_state_with_digest({{"epoch", 2}});  // {"epoch":2,"format":2,"state_digest":"..."}
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

// Adds two fields to the state: its digest, and the number of its format, which is 2. The digest is hash(0,
// text) of docs/reference/stream.md, where text is the state without its digest. A state of format 2 without
// a digest is damaged. A state of format 1 may have been written before Ratoon added digests.
[[nodiscard]] std::string encode_state_with_digest(nlohmann::json body);

// Returns a description of the text's damage, empty if it is intact. `old_fields` are the fields, beside the
// format, of states written before Ratoon added digests. If damage removed or renamed the digest,
// find_damage() detects the damage. There is one exception: a state of format 1 that has lost its whole
// digest looks like a state that was written before Ratoon added digests.
[[nodiscard]] std::string find_damage(std::string_view text, const nlohmann::json& body,
                                      std::initializer_list<std::string_view> old_fields);

// Complains if this version of Ratoon cannot read the state's format.
void check_state_format(Fields& state);

}  // namespace ratoon
