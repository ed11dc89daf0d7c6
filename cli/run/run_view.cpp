#include "cli/run/run_view.h"

#include "base/contract/fields.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kItemsMax = 100'000;
constexpr std::size_t kTextBytesMax = 4096;
constexpr std::int64_t kPortMax = 65'535;
constexpr std::uint64_t kCountMax = (1ULL << 53) - 1;

WallTime read_time(Fields& f, const char* name) {
  const auto time = parse_rfc3339(f.text(name, 64));
  if (!time) f.complain(name, "a time like 2026-11-21T11:38:21.250Z");
  return time.value_or(WallTime{});
}

std::optional<double> read_number(Fields& f, const char* name) {
  const json* value = f.find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    f.complain(name, "a number");
    return std::nullopt;
  }
  return value->get<double>();
}

std::vector<std::uint64_t> read_ports(Fields& member) {
  std::vector<std::uint64_t> ports;
  if (member.find("metrics_ports") == nullptr) return ports;
  for (const auto& port : member.list("metrics_ports", kItemsMax)) {
    const auto number = port.is_number_integer() ? port.get<std::int64_t>() : 0;
    if (number < 1 || number > kPortMax)
      member.complain("metrics_ports", "a list of ports");
    else
      ports.push_back(static_cast<std::uint64_t>(number));
  }
  return ports;
}

void read_progress(Fields f, RunView& view) {
  view.position = f.whole("position", kCountMax);
  view.total = f.whole("total", kCountMax);
  view.unit = f.text("unit", kTextBytesMax);
  view.loss = read_number(f, "loss");
  view.best = f.optional_text("best", kTextBytesMax);
  view.steps_per_second = read_number(f, "steps_per_second");
  view.seconds_left = read_number(f, "seconds_left");
}

void read_run_view(Fields& f, RunView& view) {
  for (const auto& item : f.list("members", kItemsMax)) {
    Fields m = f.child(item, "members[]");
    view.members.push_back({.name = m.text("name", kTextBytesMax),
                            .node = m.optional_text("node", kTextBytesMax),
                            .phase = m.text("phase", kTextBytesMax)});
    view.members.back().metrics_ports = read_ports(m);
  }
  for (const auto& item : f.list("nodes", kItemsMax)) {
    Fields n = f.child(item, "nodes[]");
    view.nodes.push_back({.name = n.text("name", kTextBytesMax)});
    if (n.find("ends_at") != nullptr) view.nodes.back().ends_at = read_time(n, "ends_at");
  }
  for (const auto& item : f.list("recoveries", kItemsMax)) {
    Fields r = f.child(item, "recoveries[]");
    view.recoveries.push_back({.member = r.text("member", kTextBytesMax),
                               .node = r.optional_text("node", kTextBytesMax),
                               .reason = r.optional_text("reason", kTextBytesMax),
                               .time = read_time(r, "time"),
                               .lost_steps = r.whole("lost_steps", kCountMax),
                               .seconds = r.seconds("seconds")});
  }
  view.injected_losses = f.list("on_purpose", kItemsMax).size();
  if (f.find("progress") != nullptr) read_progress(f.object("progress"), view);
}

}  // namespace

Result<RunView> decode_run_view(const json& document) {
  const json job = document.is_object() ? document.value("job", json()) : json();
  auto decoded = api::decode_training_job(job);
  if (!decoded) return decoded.error();
  RunView view;
  view.job = *std::move(decoded);
  std::optional<Error> complaint;
  Fields fields(document, "", complaint);
  read_run_view(fields, view);
  if (complaint) return *complaint;
  return view;
}

}  // namespace ratoon::cli
