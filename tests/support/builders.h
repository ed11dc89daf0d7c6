// Builders: whole objects with sensible contents, so that a case shows only the values that matter to it.
//
//   auto seen = observation(job().members(2).build());
//   seen.pods = {pod(0).running(), pod(1).failed(137)};
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/contract/messages.h"

namespace ratoon::test {

inline JobKey job_key() {
  return {.name_space = "default", .name = "digits"};
}

inline std::string uid_of(std::uint32_t index, std::uint32_t incarnation = 0) {
  return "uid-" + std::to_string(index) + "-" + std::to_string(incarnation);
}

// Process `local_rank` of member worker-<index>; `start` distinguishes the starts of the process.
inline ProcessIdentity process(std::uint32_t index, std::uint32_t incarnation = 0,
                               std::uint32_t local_rank = 0, const std::string& start = "start-1") {
  return {.job = job_key(),
          .role = "worker",
          .index = index,
          .incarnation = incarnation,
          .member_uid = uid_of(index, incarnation),
          .local_rank = local_rank,
          .start = start};
}

inline InventoryEntry checkpoint(std::uint64_t attempt, std::uint64_t step,
                                 const std::string& tier = "volume", bool is_complete = true) {
  return {.tier = tier,
          .attempt = Attempt(attempt),
          .step = Step(step),
          .digest = "digest-a" + std::to_string(attempt) + "-s" + std::to_string(step),
          .is_complete = is_complete};
}

inline ResumePoint resume_point(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step), .digest = checkpoint(attempt, step).digest};
}

inline JoinRequest join_request(ProcessIdentity who, std::uint64_t left_attempt = 0,
                                std::vector<InventoryEntry> inventory = {}) {
  JoinRequest request;
  request.address = "127.0.0.1:" + std::to_string(40000 + who.index * 10 + who.local_rank);
  request.processes_per_node = who.local_rank + 1;
  request.process = std::move(who);
  request.left_attempt = Attempt(left_attempt);
  request.inventory = std::move(inventory);
  return request;
}

inline Heartbeat beat(ProcessIdentity who, std::uint64_t attempt, std::uint64_t step,
                      std::uint64_t sequence = 1, std::optional<InventoryEntry> committed = std::nullopt) {
  Heartbeat beat;
  beat.process = std::move(who);
  beat.attempt = Attempt(attempt);
  beat.step = Step(step);
  beat.sequence = sequence;
  beat.phase = ProcessPhase::kCompute;
  beat.committed = std::move(committed);
  return beat;
}

inline Completed completed(ProcessIdentity who, std::uint64_t attempt, std::uint64_t step) {
  return {.process = std::move(who),
          .attempt = Attempt(attempt),
          .step = Step(step),
          .checkpoint = {.attempt = Attempt(attempt), .step = Step(step), .digest = "d"},
          .result = {}};
}

}  // namespace ratoon::test
