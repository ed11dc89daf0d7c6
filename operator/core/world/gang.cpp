#include "operator/core/world/gang.h"

#include <algorithm>

#include "operator/core/members/roster.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

const api::ProcessFacts* find_rank(const Observation& seen, const api::MemberStatus& member,
                                   std::uint32_t local_rank) {
  for (const auto* process : processes_of(seen, member))
    if (process->identity.local_rank == local_rank && is_process_of(process->identity, member))
      return process;
  return nullptr;
}

bool has_completed(const api::MemberStatus& member, std::uint32_t local_rank,
                   const api::ProcessFacts* process) {
  return process != nullptr ? process->is_completed : member.is_done(local_rank);
}

// Returns whether this process is in the current world and does not wait for a newer world.
bool is_in_current_world(const Observation& seen, const api::ProcessFacts* process) {
  if (is_world_unknown(seen)) {
    if (process == nullptr) return true;  // no message yet; see find_silent_members()
    return !process->join_request && process->beat && process->beat->attempt == seen.job.status.attempt;
  }
  if (process == nullptr) return false;
  const api::AssignedProcess* const seat = find_assigned_process(seen, process->identity);
  if (seat == nullptr) return false;
  return !process->join_request || process->join_request->left_attempt < seat->assignment.attempt;
}

bool contains_member(const std::vector<api::MemberStatus>& members, const api::MemberStatus& wanted) {
  return std::ranges::any_of(members, [&](const auto& member) {
    return member.index == wanted.index && member.role == wanted.role;
  });
}

// Returns whether the world still has the members of the spec. If not, a user has changed the job's size.
bool has_members_of_spec(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  const auto& stored = seen.job.status.members;
  const auto is_wanted = [&](const auto& member) {
    return member.is_absent || contains_member(members, member);
  };
  const auto is_there = [&](const auto& member) {
    return member.is_absent || contains_member(stored, member);
  };
  return std::ranges::all_of(stored, is_wanted) &&
         (seen.job.spec.elastic_policy || std::ranges::all_of(members, is_there));
}

// Returns how many seats (ranks) of the current world belong to processes of `members`.
std::size_t count_assigned_processes(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  std::size_t current = 0;
  for (const auto& member : members)
    for (const auto* seat : assigned_processes_of(seen, member))
      if (is_process_of(seat->process, member)) ++current;
  return current;
}

}  // namespace

bool is_intact(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  if (!has_members_of_spec(seen, members)) return false;
  if (api::is_agentless(seen.job.spec)) return true;  // a missing member is a loss
  if (count_assigned_processes(seen, members) != seen.world.size()) return false;
  // If the status has a newer attempt number, from a decision that is not announced yet, the current world is
  // over.
  for (const auto& seat : seen.world)
    if (seat.assignment.attempt != seen.job.status.attempt) return false;
  for (const auto& member : members) {
    if (member.is_completed || member.is_absent) continue;
    for (std::uint32_t local_rank = 0; local_rank < seen.job.spec.processes_per_node; ++local_rank) {
      const auto* process = find_rank(seen, member, local_rank);
      if (!has_completed(member, local_rank, process) && !is_in_current_world(seen, process)) return false;
    }
  }
  return true;
}

bool is_ready(const Observation& seen, const api::MemberStatus& member) {
  if (member.is_completed) return true;
  for (std::uint32_t local_rank = 0; local_rank < seen.job.spec.processes_per_node; ++local_rank) {
    const auto* process = find_rank(seen, member, local_rank);
    const bool waits = process != nullptr && process->join_request;
    if (!waits && !has_completed(member, local_rank, process)) return false;
  }
  return true;
}

Gang gather_joiners(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  Gang gang;
  for (const auto& member : members) {
    if (member.is_completed || member.is_absent) continue;
    for (std::uint32_t local_rank = 0; local_rank < seen.job.spec.processes_per_node; ++local_rank) {
      const auto* process = find_rank(seen, member, local_rank);
      if (has_completed(member, local_rank, process)) continue;
      ++gang.needed;
      if (process != nullptr && process->join_request) gang.joiners.push_back(*process->join_request);
    }
  }
  return gang;
}

std::vector<api::AssignedProcess> assign_ranks(const Gang& gang, Attempt attempt, double beat_seconds,
                                               const std::optional<ResumePoint>& resume) {
  std::vector<api::AssignedProcess> seats;
  for (std::uint32_t rank = 0; rank < gang.joiners.size(); ++rank) {
    seats.push_back({.process = gang.joiners[rank].process,
                     .assignment = {.attempt = attempt,
                                    .rank = Rank(rank),
                                    .world_size = static_cast<std::uint32_t>(gang.joiners.size()),
                                    .rendezvous = gang.joiners.front().address,
                                    .resume = resume,
                                    .beat_seconds = beat_seconds,
                                    .threads = gang.joiners.front().threads},
                     .address = gang.joiners[rank].address});
  }
  return seats;
}

}  // namespace ratoon::core
