#include "base/contract/codec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "base/contract/fields.h"

namespace ratoon {
namespace {

using nlohmann::json;

constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kAddressBytesMax = 256;
constexpr std::size_t kDigestBytesMax = 128;
constexpr std::size_t kSentenceBytesMax = 1024;
constexpr std::size_t kInventoryMax = 64;
constexpr std::size_t kSilentPeersMax = 1024;
constexpr std::size_t kResultMax = 16;
constexpr std::uint32_t kWorldMax = 65536;
constexpr std::uint64_t kCountMax = (1ULL << 53) - 1;     // what every JSON reader keeps exactly
constexpr std::uint64_t kLeftAttemptMax = 1'000'000'000;  // the next one is made from it
constexpr int kDepthMax = 8;

constexpr std::array<std::string_view, 8> kPhases = {"joining",    "load", "data",     "compute",
                                                     "collective", "save", "validate", "user"};
constexpr std::array<std::string_view, 4> kTiers = {"staged", "local", "volume", "store"};

std::uint32_t small(Fields& fields, const char* name, std::uint32_t max = kWorldMax) {
  return static_cast<std::uint32_t>(fields.whole(name, max));
}

// ---- pieces
// ----------------------------------------------------------------------------------------------------

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
  p.index = small(f, "index");
  p.incarnation = small(f, "incarnation", 0xffffffffU);
  p.member_uid = f.text("member_uid", kNameBytesMax);
  p.local_rank = small(f, "local_rank");
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
  if (std::find(kTiers.begin(), kTiers.end(), e.tier) == kTiers.end()) {
    f.complain("tier", "one of staged, local, volume, store");
  }
  e.attempt = Attempt(f.whole("attempt", kCountMax));
  e.step = Step(f.whole("step", kCountMax));
  e.digest = f.text("digest", kDigestBytesMax);
  e.is_complete = f.flag("complete");
  return e;
}

// host:port, or [v6]:port. Whether the host can be reached is for the one who connects to find out.
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

// ---- messages
// --------------------------------------------------------------------------------------------------

json to_json(const JoinRequest& m) {
  json inventory = json::array();
  for (const auto& entry : m.inventory) inventory.push_back(to_json(entry));
  json out = {{"address", m.address},
              {"inventory", std::move(inventory)},
              {"left_attempt", m.left_attempt.value()},
              {"process", to_json(m.process)},
              {"processes_per_node", m.processes_per_node}};
  if (m.left_step.value() != 0) out["left_step"] = m.left_step.value();
  return out;
}

void read(Fields& f, JoinRequest& m) {
  m.process = read_process(f);
  m.processes_per_node = small(f, "processes_per_node");
  if (m.processes_per_node == 0) f.complain("processes_per_node", "at least 1");
  if (m.process.local_rank >= std::max(m.processes_per_node, 1U)) {
    f.complain("processes_per_node",
               "greater than process.local_rank (" + std::to_string(m.process.local_rank) + ")");
  }
  m.left_attempt = Attempt(f.whole("left_attempt", kLeftAttemptMax));
  m.left_step = Step(f.optional_whole("left_step", kCountMax));
  m.address = read_address(f, "address");
  for (const auto& entry : f.list("inventory", kInventoryMax)) {
    m.inventory.push_back(read_inventory_entry(f.child(entry, "inventory[]")));
  }
}

json to_json(const Assignment& m) {
  json out = {{"attempt", m.attempt.value()},
              {"beat_seconds", m.beat_seconds},
              {"rank", m.rank.value()},
              {"rendezvous", m.rendezvous},
              {"world_size", m.world_size}};
  if (m.resume) {
    out["resume"] = {{"attempt", m.resume->attempt.value()},
                     {"digest", m.resume->digest},
                     {"step", m.resume->step.value()}};
  }
  return out;
}

void read(Fields& f, Assignment& m) {
  m.attempt = Attempt(f.whole("attempt", kCountMax));
  if (m.attempt.value() == 0) f.complain("attempt", "at least 1");
  m.rank = Rank(small(f, "rank"));
  m.world_size = small(f, "world_size");
  if (m.rank.value() >= m.world_size) {
    f.complain("rank", "less than world_size (" + std::to_string(m.world_size) + ")");
  }
  m.rendezvous = read_address(f, "rendezvous");
  m.beat_seconds = f.seconds("beat_seconds");
  if (m.beat_seconds <= 0) f.complain("beat_seconds", "more than 0");
  if (f.find("resume") != nullptr) {
    Fields r = f.object("resume");
    m.resume = ResumePoint{.attempt = Attempt(r.whole("attempt", kCountMax)),
                           .step = Step(r.whole("step", kCountMax)),
                           .digest = r.text("digest", kDigestBytesMax)};
    if (m.resume->attempt >= m.attempt) r.complain("attempt", "an attempt before the assignment's own");
  }
}

json to_json(const JoinReply& m) {
  if (m.assignment) return {{"assignment", to_json(*m.assignment)}};
  return {{"waiting_for", m.waiting_for}};
}

void read(Fields& f, JoinReply& m) {
  if (f.find("assignment") != nullptr) {
    Fields inner = f.object("assignment");
    read(inner, m.assignment.emplace());
  } else {
    m.waiting_for = f.text("waiting_for", kSentenceBytesMax);
  }
}

json to_json(const Outlook& m) {
  json out = {{"position", m.position}, {"total", m.total}, {"unit", m.unit}};
  if (m.loss) out["loss"] = *m.loss;
  return out;
}

Outlook read_outlook(Fields f) {
  Outlook outlook;
  outlook.position = f.whole("position", kCountMax);
  outlook.total = f.whole("total", kCountMax);
  outlook.unit = f.text("unit", kNameBytesMax);
  if (const auto* loss = f.find("loss"); loss != nullptr) {
    if (loss->is_number())
      outlook.loss = loss->get<double>();
    else
      f.complain("loss", "a number");
  }
  return outlook;
}

json to_json(const Beat& m) {
  json out = {{"attempt", m.attempt.value()},  {"phase", name_of(m.phase)},
              {"process", to_json(m.process)}, {"seconds_in_phase", m.seconds_in_phase},
              {"sequence", m.sequence},        {"step", m.step.value()}};
  if (m.committed) out["committed"] = to_json(*m.committed);
  if (!m.silent_peers.empty()) {
    for (const Rank rank : m.silent_peers) out["silent_peers"].push_back(rank.value());
  }
  if (m.outlook) out["outlook"] = to_json(*m.outlook);
  if (m.allowed_seconds) out["allowed_seconds"] = *m.allowed_seconds;
  return out;
}

void read(Fields& f, Beat& m) {
  m.process = read_process(f);
  m.attempt = Attempt(f.whole("attempt", kCountMax));
  m.sequence = f.whole("sequence", kCountMax);
  m.step = Step(f.whole("step", kCountMax));
  const std::string phase = f.text("phase", kNameBytesMax);
  const auto known = std::find(kPhases.begin(), kPhases.end(), phase);
  // A phase of a newer agent is some work of the user's as far as this operator knows.
  m.phase = known == kPhases.end() ? ProcessPhase::kUser : static_cast<ProcessPhase>(known - kPhases.begin());
  m.seconds_in_phase = f.seconds("seconds_in_phase");
  if (f.find("allowed_seconds") != nullptr) m.allowed_seconds = f.seconds("allowed_seconds");
  if (f.find("committed") != nullptr) m.committed = read_inventory_entry(f.object("committed"));
  for (const auto& rank : f.list("silent_peers", kSilentPeersMax)) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= kWorldMax) {
      f.complain("silent_peers", "a list of ranks");
      return;
    }
    m.silent_peers.emplace_back(rank.get<std::uint32_t>());
  }
  if (f.find("outlook") != nullptr) m.outlook = read_outlook(f.object("outlook"));
}

json to_json(const OrdersRequest& m) {
  return {{"process", to_json(m.process)}, {"seen_revision", m.seen_revision}};
}

void read(Fields& f, OrdersRequest& m) {
  m.process = read_process(f);
  m.seen_revision = f.whole("seen_revision", kCountMax);
}

json to_json(const Orders& m) {
  json out = {{"attempt", m.attempt.value()}, {"revision", m.revision}};
  if (m.drain_deadline_seconds) out["drain_deadline_seconds"] = *m.drain_deadline_seconds;
  if (m.stop) out["stop"] = true;
  if (m.save_request != 0) out["save_request"] = m.save_request;
  if (m.hand_over) out["hand_over"] = true;
  if (m.hung) out["hung"] = true;
  if (!m.reason.empty()) out["reason"] = m.reason;
  return out;
}

void read(Fields& f, Orders& m) {
  m.revision = f.whole("revision", kCountMax);
  m.attempt = Attempt(f.whole("attempt", kCountMax));
  if (f.find("drain_deadline_seconds") != nullptr)
    m.drain_deadline_seconds = f.seconds("drain_deadline_seconds");
  m.stop = f.flag("stop");
  m.save_request = f.optional_whole("save_request", kCountMax);
  m.hand_over = f.flag("hand_over");
  m.hung = f.flag("hung");
  m.reason = f.optional_text("reason", kSentenceBytesMax);
}

json to_json(const Completed& m) {
  return {{"attempt", m.attempt.value()},
          {"process", to_json(m.process)},
          {"result", m.result},
          {"step", m.step.value()}};
}

void read(Fields& f, Completed& m) {
  m.process = read_process(f);
  m.attempt = Attempt(f.whole("attempt", kCountMax));
  m.step = Step(f.whole("step", kCountMax));
  if (f.find("result") == nullptr) return;
  const json& entries = *f.find("result");
  if (!entries.is_object() || entries.size() > kResultMax) {
    f.complain("result", "an object of at most " + std::to_string(kResultMax) + " texts");
    return;
  }
  Fields result = f.object("result");
  for (const auto& entry : entries.items()) {
    if (entry.key().empty() || entry.key().size() > kNameBytesMax) {
      f.complain("result", "an object whose keys have 1 to " + std::to_string(kNameBytesMax) + " bytes");
      return;
    }
    m.result[entry.key()] = result.optional_text(entry.key().c_str(), kNameBytesMax);
  }
}

json to_json(const CompletionRecord& m) {
  json out = {{"attempt", m.attempt.value()}, {"step", m.step.value()}};
  if (!m.weights.empty()) out["weights"] = m.weights;
  return out;
}

void read(Fields& f, CompletionRecord& m) {
  m.attempt = Attempt(f.whole("attempt", kCountMax));
  m.step = Step(f.whole("step", kCountMax));
  m.weights = f.optional_text("weights", kWeightsBytesMax);
}

json to_json(const Refusal& m) {
  return {{"refusal", {{"kind", m.kind}, {"message", m.message}}}};
}

void read(Fields& f, Refusal& m) {
  Fields r = f.object("refusal");
  m.kind = r.text("kind", kNameBytesMax);
  m.message = r.text("message", kSentenceBytesMax);
}

}  // namespace

std::string_view name_of(ProcessPhase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

std::string member_name(const JobKey& job, const std::string& role, std::uint32_t index,
                        std::uint32_t incarnation) {
  return job.name + "-" + role + "-" + std::to_string(index) + "-i" + std::to_string(incarnation);
}

template <class T>
std::string encode(const T& message) {
  json out = to_json(message);
  out["version"] = kContractVersion;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T>
Result<T> decode(std::string_view text) {
  Result<json> parsed = parse_json(text, kMessageBytesMax, kDepthMax);
  if (!parsed) return parsed.error();
  std::optional<Error> complaint;
  Fields fields(*parsed, "", complaint);
  const auto version = fields.whole("version", kCountMax);
  if (!complaint && (version < kOldestServedContractVersion || version > kContractVersion)) {
    complaint =
        Error(ErrorKind::kInvalid,
              "the other side speaks version " + std::to_string(version) + " of the contract, this side " +
                  std::to_string(kOldestServedContractVersion) + " to " + std::to_string(kContractVersion) +
                  ": update the older of agent and operator (the operator first)");
  }
  T message;
  read(fields, message);
  if (complaint) return *complaint;
  return message;
}

#define RATOON_MESSAGE(T)                   \
  template std::string encode<T>(const T&); \
  template Result<T> decode<T>(std::string_view);
RATOON_MESSAGE(JoinRequest)
RATOON_MESSAGE(Assignment)
RATOON_MESSAGE(JoinReply)
RATOON_MESSAGE(Beat)
RATOON_MESSAGE(OrdersRequest)
RATOON_MESSAGE(Orders)
RATOON_MESSAGE(Completed)
RATOON_MESSAGE(CompletionRecord)
RATOON_MESSAGE(Refusal)
#undef RATOON_MESSAGE

}  // namespace ratoon
