// One full message of each type, and of each shape that a type has. Their encodings are in golden/ and never
// change: agents of the last version send them. A new field comes with a new golden file.
#pragma once

#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "tests/support/builders.h"

namespace ratoon::test {

inline ProcessIdentity golden_process() {
  return {.job = {.name_space = "team-a", .name = "digits"},
          .role = "worker",
          .index = 3,
          .incarnation = 2,
          .member_uid = "5c3bd0a4-8a0e-4e6b-9d7b-0d2a4f2f6c11",
          .local_rank = 1,
          .start = "9f86d081884c7d65"};
}

inline InventoryEntry golden_entry() {
  return {.tier = "local", .attempt = Attempt(6), .step = Step(1200), .digest = "aa55", .is_complete = true};
}

inline JoinRequest golden_join() {
  return {.process = golden_process(),
          .processes_per_node = 2,
          .left_attempt = Attempt(6),
          .address = "10.0.0.7:29400",
          .inventory = {golden_entry(),
                        {.tier = "staged",
                         .attempt = Attempt(6),
                         .step = Step(1210),
                         .digest = "bb66",
                         .is_complete = false}}};
}

inline JoinRequest golden_join_after_steps() {
  JoinRequest join = golden_join();
  join.left_step = Step(1213);
  return join;
}

inline JoinRequest golden_join_after_a_world() {
  JoinRequest join = golden_join_after_steps();
  join.has_been_in_world = true;
  return join;
}

inline JoinRequest golden_join_with_an_old_list() {
  JoinRequest join = golden_join();
  join.inventory_age_seconds = 12.5;
  return join;
}

inline JoinRequest golden_join_with_a_save_location() {
  JoinRequest join = golden_join();
  join.save_location = "/data/runs/digits";
  return join;
}

inline JoinRequest golden_join_with_rollback() {
  JoinRequest join = golden_join();
  join.rollback = RollbackRequest{.resume_from = Step(1200), .skip = 200'000};
  return join;
}

inline Assignment golden_assignment() {
  return {.attempt = Attempt(7),
          .rank = Rank(5),
          .world_size = 8,
          .rendezvous = "[fd00::7]:29400",
          .secret = "5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2e7beef",
          .resume = ResumePoint{.attempt = Attempt(6), .step = Step(1200), .digest = "aa55"},
          .beat_seconds = 0.5};
}

inline Assignment golden_assignment_with_losses() {
  Assignment assignment = golden_assignment();
  assignment.losses = RunLosses{.disruption = 12, .application = 1, .hung = 2};
  return assignment;
}

inline Assignment golden_assignment_with_peers() {
  Assignment assignment = golden_assignment();
  assignment.peers = {{.member_uid = "uid-2", .address = "10.0.0.2:29400"},
                      {.member_uid = "uid-4", .address = "[fd00::4]:29400"}};
  return assignment;
}

inline Heartbeat golden_beat() {
  return {.process = golden_process(),
          .attempt = Attempt(7),
          .sequence = 41,
          .step = Step(1207),
          .phase = ProcessPhase::kCollective,
          .seconds_in_phase = 0.25,
          .committed = golden_entry()};
}

inline Heartbeat golden_beat_with_unreachable_peers() {
  Heartbeat beat = golden_beat();
  beat.unreachable_peers = {"uid-2", "uid-4"};
  return beat;
}

inline Heartbeat golden_beat_with_outlook() {
  return {.process = golden_process(),
          .attempt = Attempt(7),
          .sequence = 42,
          .step = Step(1208),
          .phase = ProcessPhase::kCompute,
          .seconds_in_phase = 0.25,
          .committed = {},
          .outlook = ProgressEstimate{.position = 1208, .total = 4000, .unit = "step", .loss = 0.5}};
}

inline Heartbeat golden_beat_with_save() {
  return {.process = golden_process(),
          .attempt = Attempt(7),
          .sequence = 45,
          .step = Step(1305),
          .phase = ProcessPhase::kSave,
          .seconds_in_phase = 0.25,
          .committed = {},
          .save_seconds = 72.5};
}

inline Heartbeat golden_beat_with_exit_code() {
  return {.process = golden_process(),
          .attempt = Attempt(7),
          .sequence = 46,
          .phase = ProcessPhase::kUser,
          .seconds_in_phase = 0.25,
          .committed = {},
          .program_exit_code = 3};
}

inline Heartbeat golden_beat_with_deadline() {
  return {.process = golden_process(),
          .attempt = Attempt(7),
          .sequence = 43,
          .step = Step(1209),
          .phase = ProcessPhase::kData,
          .seconds_in_phase = 12.5,
          .allowed_seconds = 30,
          .committed = {}};
}

inline Heartbeat golden_beat_with_damage() {
  return {.process = golden_process(),
          .attempt = Attempt(7),
          .sequence = 44,
          .step = Step(1304),
          .phase = ProcessPhase::kCompute,
          .seconds_in_phase = 0.25,
          .committed = golden_entry(),
          .damaged = {{.tier = "local", .attempt = Attempt(7), .step = Step(1300), .digest = "cc77"}}};
}

inline Orders golden_orders() {
  return {.revision = 12,
          .attempt = Attempt(8),
          .drain_deadline_seconds = 110.5,
          .stop = true,
          .reason = "digits-worker-1-i0: silent for too long"};
}

inline Orders golden_orders_to_hand_over() {
  return {.revision = 13,
          .attempt = Attempt(7),
          .save_request = 2,
          .hand_over = true,
          .reason = "digits-worker-1-i0: its node goes"};
}

inline Orders golden_orders_after_hang() {
  return {.revision = 14,
          .attempt = Attempt(8),
          .hung = true,
          .reason = "digits-worker-1-i0 was lost: hung for 31.0 s in data at step 1209, 30.0 s are allowed"};
}

inline ResumePoint golden_last_checkpoint() {
  return {.attempt = Attempt(6), .step = Step(9000), .digest = "6dcd4ce23d88e2ee9568ba546c007c63"};
}

inline Completed golden_completed() {
  return {.process = golden_process(),
          .attempt = Attempt(7),
          .step = Step(9000),
          .checkpoint = golden_last_checkpoint(),
          .result = {{"accuracy", "0.991"}, {"loss", "0.0271"}}};
}

}  // namespace ratoon::test
