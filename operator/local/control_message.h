// What a person asks of a run that goes on, and what is answered: JSON, one message each way.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::local {

struct ControlRequest {
  enum class Kind { kKill, kReclaim, kSuspend, kResume };
  Kind kind = Kind::kKill;
  std::string target{};                    // a member to kill, or a node to reclaim; else nothing
  std::optional<double> notice_seconds{};  // of a node; nothing: it goes at once

  friend bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

struct ControlReply {
  bool is_done = false;
  std::string message;  // what was done, or why not

  friend bool operator==(const ControlReply&, const ControlReply&) = default;
};

inline constexpr std::size_t kControlBytesMax = 8192;

[[nodiscard]] std::string encode(const ControlRequest& request);
[[nodiscard]] std::string encode(const ControlReply& reply);
[[nodiscard]] Result<ControlRequest> decode_control_request(std::string_view text);
[[nodiscard]] Result<ControlReply> decode_control_reply(std::string_view text);

}  // namespace ratoon::local
