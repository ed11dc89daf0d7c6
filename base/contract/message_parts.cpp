#include "base/contract/message_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "base/core/utf8.h"

namespace ratoon::contract {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kTierNames = {"staged", "local", "volume", "store"};

}  // namespace

std::uint32_t read_uint32(Fields& fields, const char* name, std::uint32_t max) {
  return static_cast<std::uint32_t>(fields.whole(name, max));
}

json to_json(const ProcessIdentity& p) {
  return {{"index", p.index},
          {"incarnation", p.incarnation},
          {"job", {{"name", p.job.name}, {"namespace", p.job.name_space}}},
          {"local_rank", p.local_rank},
          {"member_uid", p.member_uid},
          {"role", p.role},
          {"start", p.start}};
}

ProcessIdentity read_process(Fields& message) {
  Fields f = message.object("process");
  Fields job = f.object("job");
  ProcessIdentity p;
  p.job = {.name_space = job.text("namespace", kNameBytesMax), .name = job.text("name", kNameBytesMax)};
  p.role = f.text("role", kNameBytesMax);
  p.index = read_uint32(f, "index");
  p.incarnation = read_uint32(f, "incarnation", 0xffffffffU);
  p.member_uid = f.text("member_uid", kNameBytesMax);
  p.local_rank = read_uint32(f, "local_rank");
  p.start = f.text("start", kNameBytesMax);
  return p;
}

json to_json(const InventoryEntry& e) {
  return {{"attempt", e.attempt.value()},
          {"complete", e.is_complete},
          {"digest", e.digest},
          {"step", e.step.value()},
          {"tier", e.tier}};
}

InventoryEntry read_inventory_entry(Fields f) {
  InventoryEntry e;
  e.tier = f.text("tier", kNameBytesMax);
  if (std::find(kTierNames.begin(), kTierNames.end(), e.tier) == kTierNames.end()) {
    f.complain("tier", "one of staged, local, volume, store");
  }
  e.attempt = Attempt(f.whole("attempt", kAttemptMax));
  e.step = Step(f.whole("step", kExactJsonIntegerMax));
  e.digest = f.text("digest", kDigestBytesMax);
  e.is_complete = f.flag("complete");
  return e;
}

json to_json(const ResumePoint& p) {
  return {{"attempt", p.attempt.value()}, {"digest", p.digest}, {"step", p.step.value()}};
}

ResumePoint read_resume_point(Fields f) {
  ResumePoint point;
  point.attempt = Attempt(f.whole("attempt", kExactJsonIntegerMax));
  point.step = Step(f.whole("step", kExactJsonIntegerMax));
  point.digest = f.text("digest", kDigestBytesMax);
  return point;
}

std::string bounded_text(std::string_view text, std::string_view otherwise) {
  return cut_text(as_utf8(text.empty() ? otherwise : text), kMessageTextBytesMax);
}

double bounded_seconds(double seconds) {
  return seconds > 0 ? std::min(seconds, kSecondsMax) : 0;  // no comparison with a NaN is true
}

std::string read_address(Fields& f, const char* name) {
  std::string address = f.text(name, kAddressBytesMax);
  const auto colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  std::uint16_t number = 0;  // from_chars refuses what does not fit
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (colon == 0 || problem != std::errc() || end != port.data() + port.size() || number == 0) {
    f.complain(name, "host:port");
  }
  return address;
}

std::string read_secret(Fields& f, const char* name) {
  const std::string expected = "a text of " + std::to_string(kSecretDigitsMin) + " to " +
                               std::to_string(kSecretDigitsMax) + " hexadecimal digits";
  const json* value = f.find(name);
  const auto* text = value == nullptr ? nullptr : value->get_ptr<const std::string*>();
  if (text == nullptr) {
    f.complain(name, expected);
    return {};
  }
  const bool is_one = text->size() >= kSecretDigitsMin && text->size() <= kSecretDigitsMax &&
                      text->find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_one) f.record_error_without_value(name, expected);
  return is_one ? *text : std::string();
}

json to_json(const ProgressEstimate& m) {
  json out = {{"position", m.position}, {"total", m.total}, {"unit", m.unit}};
  if (m.loss) out["loss"] = *m.loss;
  if (!m.best.empty()) out["best"] = m.best;
  return out;
}

ProgressEstimate read_outlook(Fields f) {
  ProgressEstimate outlook;
  outlook.position = f.whole("position", kExactJsonIntegerMax);
  outlook.total = f.whole("total", kExactJsonIntegerMax);
  outlook.unit = f.text("unit", kNameBytesMax);
  if (const auto* loss = f.find("loss"); loss != nullptr) {
    if (loss->is_number())
      outlook.loss = loss->get<double>();
    else
      f.complain("loss", "a number");
  }
  outlook.best = f.optional_text("best", kBestTextBytesMax);
  return outlook;
}

}  // namespace ratoon::contract
