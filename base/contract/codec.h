// Converts messages to JSON and back. Decoding bounds every size, refuses invalid values with a sentence that
// names the field, and ignores fields it does not know, so that a newer agent can talk to an older operator.
// Encoding keeps within the size limits of decoding, so that the receiver can decode the message: it cuts
// long sentences and lists, and limits durations. Identifiers (names, digests, numbers of steps) are never
// cut: an identifier beyond its bound is refused, with its field's name.
//
//   ratoon::Result<ratoon::Beat> beat = ratoon::decode<ratoon::Beat>(body);
//   if (!beat) return refuse(422, beat.error().message());
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/contract/messages.h"

namespace ratoon {

// The size limit of an encoded message: enough for texts of the greatest length that consist only of 6-byte
// escapes, such as \u0001.
inline constexpr std::size_t kMessageBytesMax = 128 * 1024;

// T is a message type of messages.h. Returns the message as compact JSON with keys in alphabetical order.
template <class T>
[[nodiscard]] std::string encode(const T& message);

template <class T>
[[nodiscard]] Result<T> decode(std::string_view text);

[[nodiscard]] std::string_view name_of(ProcessPhase phase);

}  // namespace ratoon
