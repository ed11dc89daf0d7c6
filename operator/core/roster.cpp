#include "operator/core/roster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/core/utf8.h"
#include "operator/core/classify.h"
#include "operator/core/completion.h"
#include "operator/core/failure_policy.h"
#include "operator/core/group.h"
#include "operator/core/last_failure.h"
#include "operator/core/lookup.h"
#include "operator/core/notice.h"
#include "operator/core/restart_rules.h"

namespace ratoon::core {
namespace {

bool is_same(const api::MemberStatus& a, const api::MemberStatus& b) {
  return a.index == b.index && a.role == b.role && a.incarnation == b.incarnation;
}

// What is held against members, beside what their pods show, found once for all of them.
struct Charges {
  const std::vector<api::MemberStatus>& silent;
  const std::vector<Verdict>& condemned;
  bool is_one_taken = false;     // of a group, from outside
  bool is_meeting_lost = false;  // of a group: who has rank 0 is not whom the others know
};

bool is_first(const Observation& seen, const api::MemberStatus& member) {
  const auto& members = seen.job.status.members;
  return !members.empty() && is_same(members.front(), member);
}

// Many programs take SIGTERM for a wish to end well.
bool left_with_its_node(const Observation& seen, const api::Pod& pod) {
  return pod.exit_code == 0 && !find_node_notice(seen, pod.node).empty();
}

// Nothing: it is too early to say.
std::optional<Ending> find_end_of_pod(const Observation& seen, const api::MemberStatus& member,
                                      const Charges& charges, const api::Pod& pod) {
  const auto& policy = seen.job.spec.restart_policy;
  Ending ending = judge(seen.job.spec, member.role, classify(pod, false, policy));
  if (is_failure(ending) && left_with_its_node(seen, pod) && !find_rule(policy, pod))
    return Ending{EndCause::kDisruption,
                  "exit code 0 as its node was to go, which is not the end of its work"};
  if (!api::is_group(seen.job.spec)) return ending;
  if (find_judgement(seen, charges.is_one_taken, pod)) return std::nullopt;
  return judge_in_group(charges.is_one_taken, std::move(ending));
}

// What ended this incarnation, which is not done, if anything did.
std::optional<Ending> find_ending(const Observation& seen, const api::MemberStatus& member,
                                  const Charges& charges) {
  if (charges.is_meeting_lost && is_first(seen, member))
    return Ending{.cause = EndCause::kDisruption,
                  .sentence = "vanished, and others were told to meet it",
                  .is_of_platform = true};
  const api::Pod* pod = find_pod(seen, member);
  if (pod == nullptr) {
    if (member.uid.empty()) return std::nullopt;  // not made yet
    return Ending{.cause = EndCause::kDisruption, .sentence = "vanished", .is_of_platform = true};
  }
  if (pod->has_ended() || (pod->is_deleting && !has_time_left(seen, *pod)))
    return find_end_of_pod(seen, member, charges, *pod);
  if (contains(charges.silent, member)) return Ending{EndCause::kDisruption, "silent for too long"};
  const auto verdict =
      std::ranges::find_if(charges.condemned, [&](const Verdict& v) { return is_same(v.member, member); });
  if (verdict != charges.condemned.end()) return verdict->ending;
  return std::nullopt;
}

}  // namespace

bool contains(const std::vector<api::MemberStatus>& members, const api::MemberStatus& wanted) {
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& member) { return is_same(member, wanted); });
}

std::string display_name(const Observation& seen, const api::MemberStatus& member) {
  return member_name(api::key_of(seen.job), member.role, member.index, member.incarnation);
}

bool is_of(const ProcessIdentity& process, const api::MemberStatus& member) {
  return process.index == member.index && process.role == member.role &&
         process.incarnation == member.incarnation && !member.uid.empty() && process.member_uid == member.uid;
}

std::vector<api::MemberStatus> desired_members(const api::TrainingJob& job) {
  // Those who train when their job is suspended save first; another size that it was given meanwhile is of
  // the world after that.
  if (job.spec.is_suspended && job.status.is_formed) return job.status.members;
  std::vector<api::MemberStatus> members;
  for (const auto& role : job.spec.roles) {
    for (std::uint32_t index = 0; index < api::places_of(job.spec, role); ++index) {
      const auto known = std::find_if(job.status.members.begin(), job.status.members.end(),
                                      [&](const auto& m) { return m.index == index && m.role == role.name; });
      if (known != job.status.members.end())
        members.push_back(*known);
      else
        members.push_back({.role = role.name, .index = index, .incarnation = 0, .uid = ""});
    }
  }
  return members;
}

const api::Pod* find_pod(const Observation& seen, const api::MemberStatus& member) {
  for (const auto* pod : pods_of(seen, member))
    if (member.uid.empty() || pod->uid == member.uid) return pod;
  return nullptr;
}

bool has_time_left(const Observation& seen, const api::Pod& pod) {
  if (!pod.is_deleting || pod.has_ended() || !pod.ends_at || *pod.ends_at <= seen.wall_now) return false;
  const auto& status = seen.job.status;
  return status.is_formed &&
         std::any_of(status.members.begin(), status.members.end(),
                     [&](const auto& member) { return member.uid == pod.uid && !member.is_absent; });
}

bool is_named(const api::Pod& pod, const std::vector<api::MemberStatus>& members) {
  return std::any_of(members.begin(), members.end(), [&](const auto& member) {
    return pod.index == member.index && pod.role == member.role &&
           (pod.incarnation == member.incarnation ||
            (member.is_leaving() && pod.incarnation == member.successor));
  });
}

void note_pod(const Observation& seen, api::MemberStatus& member) {
  const api::Pod* pod = find_pod(seen, member);
  if (pod == nullptr) return;
  member.uid = pod->uid;
  if (!pod->node.empty()) member.node = pod->node;  // a view that is behind takes back nothing
}

api::MemberStatus successor_of(const api::MemberStatus& member) {
  return {.role = member.role,
          .index = member.index,
          .incarnation = member.successor,
          .uid = member.successor_uid,
          .is_absent = member.is_absent,
          .not_before = member.not_before};
}

api::MemberStatus make_anew(const api::MemberStatus& member) {
  return {.role = member.role,
          .index = member.index,
          .incarnation = std::max(member.incarnation, member.successor) + 1,
          .is_absent = member.is_absent};
}

api::MemberStatus next_incarnation(const api::MemberStatus& member) {
  if (member.is_leaving()) return successor_of(member);
  return {.role = member.role,
          .index = member.index,
          .incarnation = member.incarnation + 1,
          .is_absent = member.is_absent};
}

std::vector<api::MemberStatus> named_incarnations(const std::vector<api::MemberStatus>& members) {
  std::vector<api::MemberStatus> named;
  for (const auto& member : members) {
    named.push_back(member);
    if (member.is_leaving()) named.push_back(successor_of(member));
  }
  return named;
}

namespace {

// maxRestarts is what failures and hangs together may use up.
void check_budget(const Observation& seen, const std::string& news, RosterChange& change) {
  const auto& restarts = change.restarts;
  const std::uint32_t restarts_max = seen.job.spec.restart_policy.restarts_max;
  if (std::uint64_t{restarts.application} + restarts.hung > std::uint64_t{restarts.ignored} + restarts_max)
    change.fatal = news + "; maxRestarts (" + std::to_string(restarts_max) + ") is used up";
}

// For people who see only an event or the status: what the program, its runtime or its agent said of its end.
std::string what_it_said(const Observation& seen, const api::MemberStatus& member, const Ending& ending) {
  constexpr std::size_t kBytesMax = 300;
  const bool is_told =
      ending.cause == EndCause::kApplication || ending.cause == EndCause::kFatal || ending.is_of_storage;
  if (!is_told) return "";
  const api::Pod* pod = find_pod(seen, member);
  const std::string exception = pod == nullptr ? "" : find_exception(pod->last_lines);
  if (!exception.empty()) return "; it said: " + cut_text(exception, kBytesMax);
  return ending.cause == EndCause::kFatal ? "; see the member's log" : "";
}

// What it costs depends on where it was: what joins a world that stands, or takes over from one of its
// members, cannot fail the job that trains without it.
enum class Part { kOfWorld, kBesideWorld };

Part part_of_loss(const Observation& seen, bool is_outside) {
  return is_outside && seen.job.status.is_formed ? Part::kBesideWorld : Part::kOfWorld;
}

void judge_outside(Ending& ending) {
  if (ending.cause != EndCause::kFatal) return;
  ending.cause = EndCause::kApplication;
  ending.sentence += " (its job trains without it)";
}

// Counts an ending under its cause and tells people.
void count(const Observation& seen, const api::MemberStatus& member, const Ending& ending, Part part,
           RosterChange& change) {
  const std::string news =
      display_name(seen, member) + ": " + ending.sentence + what_it_said(seen, member, ending);
  if (ending.cause == EndCause::kFatal) change.fatal = news;
  if (ending.cause == EndCause::kApplication || ending.cause == EndCause::kHung) {
    ++(ending.cause == EndCause::kHung ? change.restarts.hung : change.restarts.application);
    if (part == Part::kBesideWorld || !can_fail_job(seen.job.spec, member.role)) ++change.restarts.ignored;
    check_budget(seen, news, change);
  }
  if (ending.cause == EndCause::kDisruption) ++change.restarts.disruption;
  change.actions.push_back(EmitEvent{.is_warning = true, .reason = "MemberLost", .message = news});
}

Loss make_loss(const Observation& seen, api::MemberStatus member, const Ending& ending, bool is_silent) {
  note_pod(seen, member);  // its node may be news of this very look
  return {.member = std::move(member),
          .reason = ending.sentence,
          .is_silent = is_silent,
          .cause = ending.cause,
          .is_rejection = ending.is_rejection,
          .is_of_device = ending.is_of_device,
          .is_of_storage = ending.is_of_storage,
          .is_unheard = ending.is_unheard,
          .is_of_platform = ending.is_of_platform};
}

// A successor that ended before it took over is replaced like any other; the world does not notice.
void follow_successor(const Observation& seen, const std::vector<api::MemberStatus>& silent,
                      api::MemberStatus& member, RosterChange& change) {
  const api::MemberStatus successor = successor_of(member);
  auto ending = is_completed(seen, successor)
                    ? std::nullopt
                    : find_ending(seen, successor, {.silent = silent, .condemned = {}});
  if (ending) {
    const Part part = part_of_loss(seen, /*is_outside=*/true);
    if (part == Part::kBesideWorld) judge_outside(*ending);
    count(seen, successor, *ending, part, change);
    change.outside_losses.push_back(make_loss(seen, successor, *ending, contains(silent, successor)));
    ++member.successor;
    member.successor_uid.clear();
  } else if (const api::Pod* pod = find_pod(seen, successor)) {
    member.successor_uid = pod->uid;
  }
}

// A job that was made smaller and larger again has members in places where pods of former ones may still be,
// or stand in a copy that is behind: their ends are not the new ones' ends.
void begin_beyond_former(const Observation& seen, std::vector<api::MemberStatus>& members) {
  const auto& known = seen.job.status.members;
  for (auto& member : members) {
    const bool is_new = std::none_of(known.begin(), known.end(), [&](const auto& m) {
      return m.index == member.index && m.role == member.role;
    });
    for (const auto& pod : seen.pods) {
      // A living one without any roster may be of a first decision that was not stored.
      const bool is_former = pod.is_deleting || pod.has_ended() || !known.empty();
      const bool is_there = pod.index == member.index && pod.role == member.role;
      if (is_new && is_former && is_there)
        member.incarnation = std::max(member.incarnation, pod.incarnation + 1);
    }
  }
}

// An earlier job of this name had its members' names too. Whose pod hangs on a node that is gone keeps its
// name, maybe for ever.
void pass_over_held_names(const Observation& seen, std::vector<api::MemberStatus>& members) {
  const auto is_held = [&](const api::MemberStatus& member) {
    return std::ranges::find(seen.held_names, display_name(seen, member)) != seen.held_names.end();
  };
  for (auto& member : members) {
    while (member.uid.empty() && is_held(member)) member = make_anew(member);
    while (member.is_leaving() && member.successor_uid.empty() && is_held(successor_of(member)))
      ++member.successor;
  }
}

bool have_same_places(const std::vector<api::MemberStatus>& a, const std::vector<api::MemberStatus>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.index == other.index && one.role == other.role;
  });
}

// Each program was told at its start how many they are: in a group of another size all are others. So are
// those of whom no pod is seen: one that was asked for may still come.
void renew_resized_group(const Observation& seen, std::vector<api::MemberStatus>& members) {
  const auto& known = seen.job.status.members;
  if (!api::is_group(seen.job.spec) || known.empty() || have_same_places(known, members)) return;
  for (auto& member : members) member = make_anew(member);
}

}  // namespace

std::vector<api::MemberStatus> next_members(const Observation& seen) {
  auto members = desired_members(seen.job);
  begin_beyond_former(seen, members);
  renew_resized_group(seen, members);
  pass_over_held_names(seen, members);
  return members;
}

RosterChange replace_lost(const Observation& seen, const std::vector<api::MemberStatus>& silent,
                          const std::vector<Verdict>& condemned) {
  RosterChange change{.members = next_members(seen), .restarts = seen.job.status.restarts};
  const bool is_group = api::is_group(seen.job.spec);
  const Charges charges{.silent = silent,
                        .condemned = condemned,
                        .is_one_taken = is_group && is_anybody_taken(seen),
                        .is_meeting_lost = is_group && has_lost_meeting(seen)};
  std::set<EndCause> counted_shared;
  for (auto& member : change.members) {
    // What is stored of a group may be behind, and a program that is short over by then.
    if (is_group && member.uid.empty()) note_pod(seen, member);
    if (is_completed(seen, member)) {
      note_pod(seen, member);
      member.is_completed = true;
      member.done = 0;
      member.successor_uid.clear();  // nothing is left to take over; its number is not given again
      continue;
    }
    if (member.is_leaving()) follow_successor(seen, silent, member, change);
    if (auto ending = find_ending(seen, member, charges)) {
      // Counted with the first who is lost to it: one that was to blame too may have ended by itself.
      if (ending->is_shared && !counted_shared.insert(ending->cause).second)
        ending->cause = EndCause::kDisruption;
      const Part part = part_of_loss(seen, member.is_absent);
      if (part == Part::kBesideWorld) judge_outside(*ending);
      count(seen, member, *ending, part, change);
      auto& losses = member.is_absent ? change.outside_losses : change.losses;
      losses.push_back(make_loss(seen, member, *ending, contains(silent, member)));
      member = next_incarnation(member);
    }
    note_pod(seen, member);
    member.done = done_in(seen, member);
  }
  return change;
}

void give_up_world(const Observation& seen, const std::string& why, RosterChange& change) {
  change.gives_up_world = why;
  ++change.restarts.hung;
  change.actions.push_back(EmitEvent{.is_warning = true, .reason = "WorldHung", .message = why});
  check_budget(seen, why, change);
}

std::vector<Action> follow_roster(const Observation& seen, const std::vector<api::MemberStatus>& members,
                                  const std::vector<std::string>& avoid_nodes,
                                  const std::vector<std::string>& sick_nodes) {
  std::vector<Action> actions;
  for (const auto& pod : seen.pods) {
    if (!is_named(pod, members) && !pod.is_deleting) {
      actions.push_back(DeletePod{.name = pod.name, .uid = pod.uid, .reason = "superseded"});
    }
  }
  for (const auto& member : named_incarnations(members)) {
    if (find_pod(seen, member) != nullptr || !member.uid.empty() || member.is_completed) continue;
    if (member.not_before && *member.not_before > seen.wall_now) continue;
    api::Pod pod;
    pod.name = display_name(seen, member);
    pod.role = member.role;
    pod.index = member.index;
    pod.incarnation = member.incarnation;
    if (api::is_group(seen.job.spec)) {
      pod.group_seat = find_group_seat(seen, members, member);
      if (!pod.group_seat) continue;
    }
    actions.push_back(CreatePod{std::move(pod), avoid_nodes, sick_nodes});
  }
  return actions;
}

}  // namespace ratoon::core
