#include "base/contract/state_digest.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <ratoon/counter_random.h>

#include "base/contract/fields.h"
#include "base/core/hex.h"

namespace ratoon {
namespace {

using nlohmann::json;

constexpr const char* kStateDigest = "state_digest";
constexpr const char* kFormatKey = "format";
constexpr std::uint64_t kFormatWithoutDigest = 1;  // or with one: early states have none
constexpr std::uint64_t kFormatWithDigest = 2;

std::string digest_of_text(std::string_view text) {
  return to_hex(hash64(0, text));
}

// Replaces bytes that are not UTF-8, so if damage added such bytes, the result differs from the stored text.
std::string text_of(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string encode_state_with_digest(json body) {
  body[kFormatKey] = kFormatWithDigest;
  body[kStateDigest] = digest_of_text(body.dump());
  return body.dump();
}

std::string find_damage(std::string_view text, const json& body,
                        std::initializer_list<std::string_view> old_fields) {
  if (!body.is_object()) return "";  // the reader of its fields reports it
  const std::string as_written = text_of(body);
  if (body.contains(kStateDigest)) {
    json rest = body;
    rest.erase(kStateDigest);
    const json& digest = body[kStateDigest];
    const bool fits = as_written == text && digest.is_string() &&
                      digest.get_ref<const std::string&>() == digest_of_text(text_of(rest));
    return fits ? ""
                : "the state's digest does not match its content: the state is damaged; take it from another "
                  "checkpoint";
  }
  const auto items = body.items();
  const bool has_others = !std::all_of(items.begin(), items.end(), [&](const auto& item) {
    return item.key() == kFormatKey || std::ranges::find(old_fields, item.key()) != old_fields.end();
  });
  if (has_others)
    return "the state has no digest, and it has an unknown field: it is damaged, or a newer Ratoon wrote it";
  const auto format = body.find(kFormatKey);
  if (format != body.end() && *format == kFormatWithDigest)
    return "the state has no digest, and only states of format 1 may have none: it is damaged; take it from "
           "another checkpoint";
  // If damage changed the name of the digest's field to another field's name, that name occurs twice.
  if (as_written.size() != text.size())
    return "the state has no digest, and it has a duplicate field or spaces between fields: it is damaged";
  return "";
}

void check_state_format(Fields& state) {
  const std::uint64_t format = state.whole(kFormatKey, std::numeric_limits<std::uint64_t>::max());
  if (format != kFormatWithoutDigest && format != kFormatWithDigest)
    state.complain(kFormatKey, "1 or 2: a newer version of Ratoon wrote this state; use that version");
}

}  // namespace ratoon
