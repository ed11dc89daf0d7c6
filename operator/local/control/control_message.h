// A user's request to a run in progress, and the run's reply: one JSON message in each direction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::local {

struct ControlRequest {
  enum class Kind { kKill, kReclaim, kSuspend, kResume };
  Kind kind = Kind::kKill;
  std::string target{};                    // a member to kill, or a node to reclaim; else empty
  std::optional<double> notice_seconds{};  // for a node; nothing: it ends at once

  friend bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

struct ControlReply {
  bool is_done = false;
  std::string message;  // the effect, or the reason of a refusal

  friend bool operator==(const ControlReply&, const ControlReply&) = default;
};

inline constexpr std::size_t kControlBytesMax = 8192;

[[nodiscard]] std::string encode(const ControlRequest& request);
[[nodiscard]] std::string encode(const ControlReply& reply);
[[nodiscard]] Result<ControlRequest> decode_control_request(std::string_view text);
[[nodiscard]] Result<ControlReply> decode_control_reply(std::string_view text);

}  // namespace ratoon::local
