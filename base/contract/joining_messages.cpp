// Converts to JSON and back the messages with which a trainer process joins a world (processes that train
// together).
#include <algorithm>
#include <span>
#include <string>

#include "base/contract/message_json.h"
#include "base/contract/message_parts.h"
#include "base/core/utf8.h"

namespace ratoon::contract {

using nlohmann::json;

namespace {

constexpr std::uint32_t kLossesMax = 0xffffffffU;

std::uint32_t read_threads(Fields& f) {
  return static_cast<std::uint32_t>(f.optional_whole_number("threads", kThreadsMax));
}

// A path may have any bytes and any length. If a message cannot hold a location unchanged, the message omits
// the location, because a shortened location would name another place.
bool is_sendable_location(const std::string& location) {
  return !location.empty() && location.size() <= kLocationBytesMax &&
         is_utf8(std::as_bytes(std::span(location)));
}

}  // namespace

json to_json(const JoinRequest& m) {
  json inventory = json::array();
  for (const auto& entry : first_items(m.inventory, kInventoryEntriesMax))
    inventory.push_back(to_json(entry));
  json out = {{"address", m.address},
              {"inventory", std::move(inventory)},
              {"left_attempt", m.left_attempt.value()},
              {"process", to_json(m.process)},
              {"processes_per_node", m.processes_per_node}};
  if (m.has_been_in_world) out["has_met"] = true;
  if (m.inventory_age_seconds) out["inventory_age_seconds"] = bounded_seconds(*m.inventory_age_seconds);
  if (m.left_step.value() != 0) out["left_step"] = m.left_step.value();
  if (m.rollback)
    out["rollback"] = {{"resume_from", m.rollback->resume_from.value()}, {"skip", m.rollback->skip}};
  if (is_sendable_location(m.save_location)) out["save_location"] = m.save_location;
  if (m.threads != 0) out["threads"] = m.threads;
  return out;
}

void read(Fields& f, JoinRequest& m) {
  m.process = read_process(f);
  m.processes_per_node = read_uint32(f, "processes_per_node");
  if (m.processes_per_node == 0) f.complain("processes_per_node", "at least 1");
  if (m.process.local_rank >= std::max(m.processes_per_node, 1U)) {
    f.complain("processes_per_node",
               "a number greater than process.local_rank (" + std::to_string(m.process.local_rank) + ")");
  }
  m.left_attempt = Attempt(f.whole("left_attempt", kAttemptMax));
  m.has_been_in_world = f.flag("has_met");
  m.left_step = Step(f.optional_whole_number("left_step", kExactJsonIntegerMax));
  m.address = read_address(f, "address");
  for (const auto& entry : f.list("inventory", kInventoryEntriesMax)) {
    m.inventory.push_back(read_inventory_entry(f.child(entry, "inventory[]")));
  }
  if (f.find("inventory_age_seconds") != nullptr)
    m.inventory_age_seconds = f.seconds("inventory_age_seconds");
  if (f.find("rollback") != nullptr) {
    Fields rollback = f.object("rollback");
    m.rollback = RollbackRequest{.resume_from = Step(rollback.whole("resume_from", kExactJsonIntegerMax)),
                                 .skip = rollback.whole("skip", kSkippedSamplesMax)};
  }
  if (f.find("save_location") != nullptr) m.save_location = f.text("save_location", kLocationBytesMax);
  m.threads = read_threads(f);
}

json to_json(const Assignment& m) {
  json out = {{"attempt", m.attempt.value()}, {"beat_seconds", bounded_seconds(m.beat_seconds)},
              {"rank", m.rank.value()},       {"rendezvous", m.rendezvous},
              {"secret", m.secret},           {"world_size", m.world_size}};
  if (m.resume) out["resume"] = to_json(*m.resume);
  if (m.losses) {
    out["losses"] = {{"application", m.losses->application},
                     {"disruption", m.losses->disruption},
                     {"hung", m.losses->hung}};
  }
  if (m.threads != 0) out["threads"] = m.threads;
  for (const auto& peer : first_items(m.peers, kPeersMax))
    out["peers"].push_back({{"address", peer.address}, {"member_uid", peer.member_uid}});
  return out;
}

void read(Fields& f, Assignment& m) {
  m.attempt = Attempt(f.whole("attempt", kExactJsonIntegerMax));
  if (m.attempt.value() == 0) f.complain("attempt", "at least 1");
  m.rank = Rank(read_uint32(f, "rank"));
  m.world_size = read_uint32(f, "world_size");
  if (m.rank.value() >= m.world_size) {
    f.complain("rank", "a rank less than world_size (" + std::to_string(m.world_size) + ")");
  }
  m.rendezvous = read_address(f, "rendezvous");
  m.secret = read_secret(f, "secret");
  m.beat_seconds = f.seconds("beat_seconds");
  if (m.beat_seconds <= 0) f.complain("beat_seconds", "more than 0");
  if (f.find("resume") != nullptr) {
    Fields r = f.object("resume");
    m.resume = read_resume_point(r);
    if (m.resume->attempt >= m.attempt)
      r.complain("attempt", "an attempt number below the assignment's attempt");
  }
  if (f.find("losses") != nullptr) {
    Fields losses = f.object("losses");
    m.losses = RunLosses{.disruption = read_uint32(losses, "disruption", kLossesMax),
                         .application = read_uint32(losses, "application", kLossesMax),
                         .hung = read_uint32(losses, "hung", kLossesMax)};
  }
  m.threads = read_threads(f);
  for (const auto& item : f.list("peers", kPeersMax)) {
    Fields peer = f.child(item, "peers[]");
    m.peers.push_back(
        {.member_uid = peer.text("member_uid", kNameBytesMax), .address = read_address(peer, "address")});
  }
}

json to_json(const JoinReply& m) {
  if (m.assignment) return {{"assignment", to_json(*m.assignment)}};
  return {{"waiting_for", bounded_text(m.waiting_for, "the other processes")}};
}

void read(Fields& f, JoinReply& m) {
  if (f.find("assignment") != nullptr) {
    Fields inner = f.object("assignment");
    read(inner, m.assignment.emplace());
  } else {
    m.waiting_for = f.text("waiting_for", kMessageTextBytesMax);
  }
}

}  // namespace ratoon::contract
