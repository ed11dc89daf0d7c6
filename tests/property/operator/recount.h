// A second reading of docs/operate/policies.md, made of tables where the core has rules, and written
// separately: the cost of an ending, completed members, the pods at the end. The laws compare both.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::sim {

enum class Toll { kFree, kBudget, kHang, kJob };

// The end of a lost member: its pod's state and, if it still ran, the messages about it.
struct Lost {
  std::string name;
  std::string said;
  std::string role;
  const api::Pod* pod = nullptr;  // nullptr: there is none
  bool node_goes = false;         // the node that the pod is on
  bool trains_on = false;         // in a pod that is being deleted and has time left
  bool is_outside = false;        // of the world that stands: a successor, or one that it was formed without
};

// The ends of all members that are lost in one decision.
struct Bill {
  std::uint32_t free = 0;
  std::uint32_t budget = 0;
  std::uint32_t hung = 0;     // use up the same budget
  std::uint32_t ignored = 0;  // of both
  std::uint32_t blamed = 0;   // inside the world, and not by the platform's own word
  bool ends_job = false;
};

// The number of members that the job asks for, with the possible additional places.
[[nodiscard]] std::size_t size_of(const api::TrainingJobSpec& spec);
// The incarnations in the roster, or that would be in it; members that save before a suspension keep their
// incarnations.
[[nodiscard]] std::vector<api::MemberStatus> members_of(const api::TrainingJob& job);
// The same, and the successors of leaving members, each as a member of its own.
[[nodiscard]] std::vector<api::MemberStatus> incarnations_of(const std::vector<api::MemberStatus>& members);
// Whether the process runs in the pod of exactly this incarnation.
[[nodiscard]] bool sits_for(const ProcessIdentity& process, const api::MemberStatus& member);
// The time until which a world that is to be suspended may save.
// Whether this operator received a message of each seated member that is not done.
[[nodiscard]] bool is_all_heard(const core::Observation& seen, const api::TrainingJobStatus& status);
[[nodiscard]] WallTime end_of_saving(const core::Observation& seen, const api::TrainingJobStatus& status);

[[nodiscard]] bool decides(const std::vector<std::string>& roles, const std::string& role);
[[nodiscard]] Bill add_up(const api::TrainingJobSpec& spec, const std::vector<Lost>& lost);

// Whether no commit that the status knows contradicts the record with which the pod ended.
[[nodiscard]] bool is_record_true(const api::TrainingJobStatus& status, const api::Pod& pod);
// Completed by the status, by the pod's record, or by all its processes.
[[nodiscard]] bool is_known_done(const core::Observation& seen, const api::MemberStatus& member);

// UIDs of pods that are deleted when a job ends, or is found to have ended.
[[nodiscard]] std::set<std::string> pods_to_go(const core::Observation& seen,
                                               const api::TrainingJobStatus& status);

}  // namespace ratoon::sim
