// Converts messages to JSON and back. Decoding bounds every size and refuses invalid values with a sentence
// that names the field. It ignores unknown fields, so that a newer agent can talk to an older operator.
// Encoding keeps within the size limits of decoding, so that the receiver can decode the message: it cuts
// long sentences and lists, and limits durations. Identifiers (names, digests, numbers of steps) are never
// cut: if one is too large, encoding fails with an error that names the field.
//
//   ratoon::Result<ratoon::Heartbeat> beat = ratoon::decode<ratoon::Heartbeat>(body);
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
