#include "operator/runtime/jobs/status_debounce.h"

#include <algorithm>
#include <utility>

#include "base/contract/resume_point.h"

namespace ratoon::runtime {
namespace {

// Store progress at most this often: each write goes to the API server, which 1000 jobs may share.
constexpr Duration kProgressPause = std::chrono::seconds(5);
// Store commits at most this often, even if a job saves many times a second; writes for other reasons include
// commits too.
constexpr Duration kCommitPause = std::chrono::seconds(1);
// Store the pods of a starting group (members without the agent) at most this often: until all pods run, only
// people read these fields.
constexpr Duration kRosterPause = std::chrono::seconds(5);
constexpr Duration kPodsPause = std::chrono::seconds(1);

// Returns whether the two statuses differ only in the training's progress.
bool differ_in_step_alone(api::TrainingJobStatus a, const api::TrainingJobStatus& b) {
  a.step = b.step;
  a.stepped_at = b.stepped_at;
  a.outlook = b.outlook;
  return a == b;
}

// Returns whether only a newer commit differs; a checkpoint that was revoked is stored at once.
bool differ_in_commit_alone(api::TrainingJobStatus a, const api::TrainingJobStatus& b) {
  if (!a.last_checkpoint || !b.last_checkpoint || is_newer(*a.last_checkpoint, *b.last_checkpoint))
    return false;
  a.last_checkpoint = b.last_checkpoint;
  a.last_checkpoint_tier = b.last_checkpoint_tier;
  return differ_in_step_alone(std::move(a), b);
}

// Returns whether the world still waits for its pods, and only details of the pods differ.
bool differ_in_roster_alone(api::TrainingJobStatus a, const api::TrainingJobStatus& b) {
  // A new job gets its first condition (Scheduled) when its pods get nodes: ignore this difference too.
  const bool is_placed = a.conditions.empty() && b.conditions.size() == 1 &&
                         b.conditions.front().type == api::condition::kScheduled &&
                         b.conditions.front().is_true;
  if (is_placed) a.conditions = b.conditions;
  const bool is_waiting = !a.is_formed && !b.is_formed && a.members.size() == b.members.size() &&
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
  if (before == after) return {.has_news = false};
  if (differ_in_step_alone(before, after)) return {.after_the_last_write = kProgressPause};
  if (differ_in_commit_alone(before, after)) return {.after_the_last_write = kCommitPause};
  // For members with the agent the write must not wait, because a member may join only after the status names
  // its pod.
  if (api::is_group(spec) && differ_in_roster_alone(before, after)) return {.from_now = kRosterPause};
  // A status with thousands of pods is large: write it at most once per kPodsPause while pods are created.
  if (is_making_pods && differ_in_roster_alone(before, after)) return {.after_the_last_write = kPodsPause};
  return {};
}

Timestamp due(const StatusDebounce& debounce, Timestamp last_write, Timestamp news_since) {
  return std::max(last_write + debounce.after_the_last_write, news_since + debounce.from_now);
}

void recall(const std::vector<api::MemberStatus>& seen, std::vector<api::MemberStatus>& stored) {
  for (auto& member : stored) {
    for (const auto& known : seen) {
      const bool is_same =
          known.index == member.index && known.role == member.role && known.incarnation == member.incarnation;
      // The member may have got a pod, or its pod a node, since the status was stored.
      const bool is_more = member.uid.empty() || (member.uid == known.uid && member.node.empty());
      if (!is_same || !is_more) continue;
      member.uid = known.uid;
      member.node = known.node;
    }
  }
}

}  // namespace ratoon::runtime
