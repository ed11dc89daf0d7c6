#include "operator/runtime/jobs/status_debounce.h"

#include <algorithm>
#include <utility>

#include "base/contract/resume_point.h"

namespace ratoon::runtime {
namespace {

// Store progress at most this often: each write goes to the API server, which 1000 jobs may share.
constexpr Duration kProgressWriteInterval = std::chrono::seconds(5);
// Store commits at most this often, even if a job saves many times a second. A write for another reason also
// stores the newest commit.
constexpr Duration kCommitWriteInterval = std::chrono::seconds(1);
// Store the pods of a starting group (members without the agent) at most this often: until all pods run, only
// people read these fields.
constexpr Duration kRosterWriteDelay = std::chrono::seconds(5);
constexpr Duration kPodsWriteInterval = std::chrono::seconds(1);

// Returns whether the two statuses differ only in the training's progress.
bool differ_only_in_progress(api::TrainingJobStatus a, const api::TrainingJobStatus& b) {
  a.step = b.step;
  a.last_step_at = b.last_step_at;
  a.outlook = b.outlook;
  return a == b;
}

// Returns whether the statuses differ in a newer commit, and otherwise at most in the training's progress. A
// revoked checkpoint is another difference.
bool differ_only_in_commit(api::TrainingJobStatus a, const api::TrainingJobStatus& b) {
  if (!a.last_checkpoint || !b.last_checkpoint || is_newer(*a.last_checkpoint, *b.last_checkpoint))
    return false;
  a.last_checkpoint = b.last_checkpoint;
  a.last_checkpoint_tier = b.last_checkpoint_tier;
  return differ_only_in_progress(std::move(a), b);
}

// Returns whether the world still waits for its pods, and the statuses differ only in details of pods.
bool differ_only_in_roster(api::TrainingJobStatus a, const api::TrainingJobStatus& b) {
  // A new job gets its first condition (Scheduled) when its pods get nodes: ignore this difference, too.
  const bool is_placed = a.conditions.empty() && b.conditions.size() == 1 &&
                         b.conditions.front().type == api::condition::kScheduled &&
                         b.conditions.front().is_true;
  if (is_placed) a.conditions = b.conditions;
  const bool is_waiting = !a.is_world_formed && !b.is_world_formed && a.members.size() == b.members.size() &&
                          a.conditions.size() == b.conditions.size();
  if (!is_waiting) return false;
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    a.members[i].uid = b.members[i].uid;
    a.members[i].node = b.members[i].node;
  }
  for (std::size_t i = 0; i < a.conditions.size(); ++i) a.conditions[i].message = b.conditions[i].message;
  a.message = b.message;
  a.replicas = b.replicas;
  return a == b;
}

}  // namespace

StatusDebounce status_debounce_for(const api::TrainingJobSpec& spec, const api::TrainingJobStatus& before,
                                   const api::TrainingJobStatus& after, bool is_making_pods) {
  if (before == after) return {.has_change = false};
  if (differ_only_in_progress(before, after)) return {.after_last_write = kProgressWriteInterval};
  if (differ_only_in_commit(before, after)) return {.after_last_write = kCommitWriteInterval};
  // For members with the agent, the write must not wait, because they may join only after the status names
  // their pods.
  if (api::is_agentless(spec) && differ_only_in_roster(before, after))
    return {.after_first_change = kRosterWriteDelay};
  // A status with thousands of pods is large: write it once per kPodsWriteInterval at most while pods are
  // created.
  if (is_making_pods && differ_only_in_roster(before, after)) return {.after_last_write = kPodsWriteInterval};
  return {};
}

Timestamp status_write_time(const StatusDebounce& debounce, Timestamp last_write, Timestamp news_since) {
  return std::max(last_write + debounce.after_last_write, news_since + debounce.after_first_change);
}

void restore_pod_placement(const std::vector<api::MemberStatus>& seen,
                           std::vector<api::MemberStatus>& stored) {
  for (auto& member : stored) {
    for (const auto& known : seen) {
      const bool is_same =
          known.index == member.index && known.role == member.role && known.incarnation == member.incarnation;
      // The member may have got a pod, or its pod may have got a node, since the status was stored.
      const bool is_more = member.uid.empty() || (member.uid == known.uid && member.node.empty());
      if (!is_same || !is_more) continue;
      member.uid = known.uid;
      member.node = known.node;
    }
  }
}

}  // namespace ratoon::runtime
