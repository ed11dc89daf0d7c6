#include "operator/core/world/release_nodes.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "base/contract/resume_point.h"
#include "base/core/count_with_noun.h"
#include "base/core/xxh3.h"
#include "operator/core/members/capacity_shortage.h"
#include "operator/core/policy/suspend.h"
#include "operator/core/world/announce.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

constexpr std::uint32_t kDoublingsMax = 3;

// Returns a number from 0 to 1 that depends on the job's identity and on `number`, the number of the release
// of nodes.
double hash_to_fraction(const api::TrainingJob& job, std::uint32_t number) {
  const std::string text =
      job.meta.name_space + "/" + job.meta.name + "/" + job.meta.uid + "/" + std::to_string(number);
  constexpr double kHashes = 18446744073709551616.0;  // 2^64
  return static_cast<double>(xxh3_64(std::as_bytes(std::span(text)))) / kHashes;
}

// Returns whether a pod of the job may hold a node. Ignores pods on lost nodes, because they may never end.
bool is_any_node_held(const Observation& seen) {
  const auto is_lost = [&](const std::string& name) {
    const auto node = std::ranges::find(seen.nodes, name, &api::Node::name);
    return node != seen.nodes.end() && node->is_lost;
  };
  return std::ranges::any_of(seen.pods, [&](const api::Pod& pod) {
    return (!pod.has_ended() || pod.has_running_sidecars) && !is_lost(pod.node);
  });
}

// Returns whether the newest checkpoint outlives the job's nodes, according to the job's status and to the
// members that wait for a world.
bool is_newest_checkpoint_shared(const Observation& seen, const api::TrainingJobStatus& status) {
  if (!status.last_checkpoint) return true;
  const ResumePoint& last = *status.last_checkpoint;
  if (is_on_shared_storage({.tier = status.last_checkpoint_tier})) return true;
  return std::ranges::any_of(seen.processes, [&](const api::ProcessFacts& process) {
    return process.join_request &&
           std::ranges::any_of(process.join_request->inventory, [&](const InventoryEntry& entry) {
             return entry.is_complete && is_on_shared_storage(entry) && entry.attempt == last.attempt &&
                    entry.step == last.step;
           });
  });
}

std::string describe_node_count(std::size_t count) {
  return count_with_noun(count, "member has a node", "members have nodes");
}

void begin_release(const Observation& seen, const CapacityShortage& shortage, api::TrainingJobStatus& status,
                   std::vector<Action>& news) {
  api::CapacityWait& wait = *status.capacity_wait;
  wait.since.reset();
  ++wait.release_count;
  wait.retry_at = WallTime{seen.wall_now.since_epoch + pause_after_release(seen.job, wait.release_count)};
  status.message = "freed its nodes after releaseAfterSeconds (" +
                   std::to_string(seen.job.spec.release_after_seconds) + "), when " +
                   describe_node_count(shortage.members_with_nodes) + " and " + shortage.reason +
                   "; asks for nodes again at " + format_rfc3339(*wait.retry_at);
  news.push_back(EmitEvent{.is_warning = true, .reason = "NodesReleased", .message = status.message});
}

}  // namespace

Duration pause_after_release(const api::TrainingJob& job, std::uint32_t number) {
  const std::uint32_t doublings = std::min(number - std::min(number, 1U), kDoublingsMax);
  const auto longest = std::chrono::seconds(std::uint64_t{job.spec.release_after_seconds} << doublings);
  return from_seconds(seconds(longest) * (1 + hash_to_fraction(job, number)) / 2);
}

bool is_released(const api::TrainingJobStatus& status) {
  return status.capacity_wait && status.capacity_wait->retry_at;
}

std::vector<Action> end_release(const Observation& seen, api::TrainingJobStatus& status) {
  if (!is_released(status)) return {};
  api::CapacityWait& wait = *status.capacity_wait;
  if (seen.job.meta.generation != status.observed_generation) {
    wait.retry_at = std::min(*wait.retry_at, seen.wall_now);
    wait.release_count = 0;
  }
  // If the clock went back since the pause began, the stored moment may be days away.
  const Duration pause = pause_after_release(seen.job, wait.release_count);
  wait.retry_at = std::min(*wait.retry_at, WallTime{seen.wall_now.since_epoch + pause});
  if (*wait.retry_at > seen.wall_now) return {};
  if (is_any_node_held(seen)) {
    status.message = "waits until its former pods are gone, and then asks for nodes again";
    return {};
  }
  wait.retry_at.reset();
  return {EmitEvent{.is_warning = false,
                    .reason = "NodesRequested",
                    .message = "the pause after the release of its nodes is over; asks for nodes again"}};
}

std::optional<WallTime> update_capacity_wait(const Observation& seen, api::TrainingJobStatus& status,
                                             std::vector<Action>& news) {
  auto& wait = status.capacity_wait;
  const std::uint32_t limit = seen.job.spec.release_after_seconds;
  if (limit == 0 || status.is_world_formed) wait.reset();
  if (limit == 0 || status.is_world_formed) return std::nullopt;
  const CapacityShortage shortage = find_capacity_shortage(seen, status.members);
  const bool is_short = !shortage.reason.empty();
  if (wait && (shortage.is_over || (is_short && shortage.members_with_nodes == 0))) wait->since.reset();
  if (wait && *wait == api::CapacityWait()) wait.reset();
  if (!is_short || shortage.members_with_nodes == 0) return std::nullopt;
  if (!wait) wait.emplace();
  if (!wait->since) wait->since = seen.wall_now;
  if (!is_newest_checkpoint_shared(seen, status)) {
    status.message += "; keeps its nodes, since the checkpoint of step " +
                      std::to_string(status.last_checkpoint->step.value()) + " is only on their disks";
    return std::nullopt;
  }
  const WallTime due{wait->since->since_epoch + std::chrono::seconds(limit)};
  if (due <= seen.wall_now)
    begin_release(seen, shortage, status, news);
  else
    status.message +=
        "; frees its nodes at " + format_rfc3339(due) + " unless the next world has nodes by then";
  return due;
}

Decision make_released_decision(const Observation& seen, std::vector<Action> news,
                                api::TrainingJobStatus status) {
  Decision decision{.status = std::move(status), .actions = std::move(news)};
  free_nodes(seen, "released", decision);
  decision.status.phase = decision.status.attempt.value() <= 1 ? JobPhase::kPending : JobPhase::kRecovering;
  decision.announcement = announce(seen, decision.status, false, {});
  decision.announcement.reason = decision.status.message;
  return decision;
}

std::optional<WallTime> release_pause_end(const Observation& seen, const api::TrainingJobStatus& status) {
  if (!is_released(status) || *status.capacity_wait->retry_at <= seen.wall_now) return std::nullopt;
  return status.capacity_wait->retry_at;
}

}  // namespace ratoon::core
