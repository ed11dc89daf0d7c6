#include "cli/report/facts/run_event.h"

#include "base/contract/fields.h"
#include "operator/api/status_account.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kLineBytesMax = 1U << 20;
constexpr int kEventDepthMax = 8;
constexpr std::size_t kTextBytesMax = 4096;
constexpr std::uint64_t kEventCountMax = (1ULL << 53) - 1;

std::optional<RunEvent> decode_event(std::string_view line) {
  const auto body = parse_json(line, kLineBytesMax, kEventDepthMax);
  if (!body || !body->is_object()) return std::nullopt;
  std::optional<Error> complaint;
  Fields f(*body, "line", complaint);
  RunEvent event;
  event.kind = f.text("kind", kTextBytesMax);
  const auto at = parse_rfc3339(f.text("time", kTextBytesMax));
  if (!at) return std::nullopt;
  event.at = *at;
  event.attempt = f.optional_whole_number("attempt", kEventCountMax);
  event.step = f.optional_whole_number("step", kEventCountMax);
  event.size = f.optional_whole_number("size", kEventCountMax);
  event.member = f.optional_text("member", kTextBytesMax);
  event.role = f.optional_text("role", kTextBytesMax);
  event.index = f.optional_whole_number("index", kEventCountMax);
  event.node = f.optional_text("node", kTextBytesMax);
  event.state = f.optional_text("state", kTextBytesMax);
  event.phase = f.optional_text("phase", kTextBytesMax);
  event.reason = f.optional_text("reason", kTextBytesMax);
  event.message = f.optional_text("message", kTextBytesMax);
  if (f.find("disruption") != nullptr) event.disruption = api::read_disruption(f.object("disruption"));
  if (f.find("ledger") != nullptr) event.ledger = api::read_time_ledger(f.object("ledger"));
  if (complaint) return std::nullopt;
  return event;
}

}  // namespace

std::vector<RunEvent> decode_events(std::string_view text) {
  std::vector<RunEvent> events;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (auto event = decode_event(text.substr(0, end))) events.push_back(*std::move(event));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return events;
}

}  // namespace ratoon::cli
