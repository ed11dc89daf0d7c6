#include "operator/kube/objects/event.h"

#include "base/contract/names.h"
#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/micro_time.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

// The server's bounds.
constexpr std::size_t kEventReasonBytesMax = 128;
constexpr std::size_t kNoteBytesMax = 1000;

std::string to_event_reason(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
  text = cut_text(std::move(text), kEventReasonBytesMax);
  return text.empty() ? "News" : text;
}

json make_event_series(std::uint32_t count, WallTime time) {
  return {{"count", count}, {"lastObservedTime", format_micro_time(time)}};
}

}  // namespace

json make_event(const api::ObjectMeta& object, const EventText& text, const std::string& name,
                const std::string& reporter, WallTime time, std::uint32_t count,
                const EventSubjectKind& kind) {
  json event = {{"apiVersion", "events.k8s.io/v1"},
                {"kind", "Event"},
                {"metadata", {{"name", name}, {"namespace", object.name_space}}},
                {"eventTime", format_micro_time(time)},
                {"reportingController", std::string(names::kApiGroup) + "/operator"},
                {"reportingInstance", cut_text(reporter.empty() ? "operator" : reporter, 128)},
                {"action", "Reconcile"},
                {"reason", to_event_reason(text.reason)},
                {"type", text.is_warning ? "Warning" : "Normal"},
                {"note", cut_text(text.message, kNoteBytesMax)},
                {"regarding",
                 {{"apiVersion", kind.version},
                  {"kind", kind.name},
                  {"namespace", object.name_space},
                  {"name", object.name},
                  {"uid", object.uid},
                  {"resourceVersion", object.resource_version}}}};
  if (count > 1) event["series"] = make_event_series(count, time);  // the server's bound
  return event;
}

json make_event_repeat_patch(const std::string& note, std::uint32_t count, WallTime time) {
  return {{"message", cut_text(note, kNoteBytesMax)}, {"series", make_event_series(count, time)}};
}

}  // namespace ratoon::kube
