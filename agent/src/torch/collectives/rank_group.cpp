#include "agent/src/torch/collectives/rank_group.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include <ATen/ops/zeros.h>

#include "agent/src/session/engine/attempt_over.h"
#include "agent/src/session/rendezvous/wait_reporter.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/telemetry/say.h"
#include "agent/src/torch/collectives/abandoned_collectives.h"
#include "agent/src/torch/collectives/gloo.h"
#include "agent/src/torch/collectives/group_connector.h"
#include "base/core/never_destroyed.h"

namespace ratoon {

using session::fail;

namespace {

std::string exception_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
}

const Clock& system_clock() {
  static const NeverDestroyed<SystemClock> clock;
  return *clock;
}

// While a rank waits for other ranks, it calls RankWaitMonitor::look() again and again. The function throws
// if the attempt is over. After ten seconds, and then every minute, it prints for what the rank waits.
class RankWaitMonitor {
 public:
  RankWaitMonitor(const Session& session, std::string_view what) : session_(session), what_(what) {}

  void look() {
    session_.check();
    if (const auto time = wait_.due()) {
      session::say(
          "rank " + std::to_string(session_.rank()) + " of " + std::to_string(session_.world_size()) +
          " has waited " + *time + " for " + std::string(what_) + ", after step " +
          std::to_string(session_.steps_done()) +
          ": check the output of the ranks that do not print this, and their position in the program");
    }
  }

 private:
  const Session& session_;
  std::string_view what_;
  session::WaitReporter wait_{system_clock()};
};

// Returns true if this process may join another attempt after connections were lost. Returns false after
// several attempts in a row without a new step; this process then ends and asks to be started again. Only the
// training thread may call may_rejoin().
bool may_rejoin(const Session& session) {
  constexpr int kRejoinsInARowMax = 3;
  static std::uint64_t reached = 0;
  static int resets = 0;
  if (session.steps_done() > reached) resets = 0;
  reached = std::max(reached, session.steps_done());
  return ++resets <= kRejoinsInARowMax;
}

// A collective fails when a rank is lost, and soon the coordinator reports that another attempt begins. If
// the coordinator reports no lost process within 20 s, probably only connections were reset, and all ranks
// join the next attempt together.
[[noreturn]] void wait_for_coordinator(const Session& session, const std::string& why) {
  constexpr auto kPatience = std::chrono::seconds(20);  // a longer wait may count as a hang
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  RankWaitMonitor wait(session, "a report that a rank was lost, because a collective failed");
  while (std::chrono::steady_clock::now() < deadline) {
    wait.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const std::string what = "a collective failed, but no lost process was reported for 20 s: " + why;
  if (may_rejoin(session)) throw AttemptOver(Attempt(session.attempt()), what);
  fail(ExitCode::kStartAgain, what);
}

std::shared_ptr<Collective> connect(const Session& session, const std::string& mark,
                                    std::vector<std::string>& marks) {
  static_cast<void>(release_done_collectives());
  const auto meeting =
      std::make_shared<GroupConnector>(GroupConnector::Plan{.rendezvous = session.rendezvous(),
                                                            .attempt = session.attempt(),
                                                            .rank = session.rank(),
                                                            .world_size = session.world_size(),
                                                            .fingerprint = mark});
  RankWaitMonitor wait(session, "all ranks to connect");
  try {
    while (!meeting->is_over()) {
      wait.look();
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  } catch (...) {
    meeting->give_up();
    keep_until_done(meeting, [m = meeting.get()] { return m->is_over(); });
    throw;
  }
  if (meeting->error()) wait_for_coordinator(session, exception_text(meeting->error()));
  marks = meeting->fingerprints();
  return std::make_shared<GroupCollective>(meeting->take_group(), abort_running_collectives,
                                           GroupCollective::AbortKind::kShort);
}

}  // namespace

void check_group_ranks(const Session& session, const c10d::Backend& group) {
  if (std::cmp_equal(session.rank(), group.getRank()) &&
      std::cmp_equal(session.world_size(), group.getSize()))
    return;
  fail(ExitCode::kConfiguration,
       "use_group() was given rank " + std::to_string(group.getRank()) + " of " +
           std::to_string(group.getSize()) + ", but this is rank " + std::to_string(session.rank()) + " of " +
           std::to_string(session.world_size()) +
           ": create the group in each attempt, with session.rank() and session.world_size()");
}

void finish_sums(const Session& session, Collective& collective) {
  RankWaitMonitor wait(session, "sums to which all ranks contribute");
  collective.wait([&] { wait.look(); });
  if (const auto error = collective.error()) wait_for_coordinator(session, exception_text(error));
}

RankGroup::RankGroup(Session& session, const WeightsFingerprint& mark) : session_(session) {
  if (session.world_size() == 1) return;
  const auto waits = session.in(Phase::kCollective);
  std::vector<std::string> marks;
  collective_ = connect(session, mark.whole, marks);
  check_fingerprints_equal(marks, mark);
}

RankGroup::RankGroup(Session& session, const WeightsFingerprint& mark,
                     const c10::intrusive_ptr<c10d::Backend>& group)
    : session_(session) {
  const auto waits = session.in(Phase::kCollective);
  // The abort function is empty, because a collective of the program's own group ends only at the group's
  // timeout.
  collective_ =
      std::make_shared<GroupCollective>(group, [](c10d::Backend&) {}, GroupCollective::AbortKind::kShort);
  check_fingerprints_equal(all_gather(mark.whole), mark);
}

std::vector<std::string> RankGroup::all_gather(const std::string& own) const {
  const auto bytes = static_cast<std::int64_t>(own.size());
  const auto all = at::zeros({session_.world_size(), bytes}, at::kByte);
  const auto row = [&](std::size_t rank) { return all.mutable_data_ptr<std::uint8_t>() + rank * own.size(); };
  std::memcpy(row(session_.rank()), own.data(), own.size());
  try {
    collective_->begin_sum(all);
    finish_sums(session_, *collective_);
  } catch (...) {
    collective_->abort();
    keep_until_done(collective_, [c = collective_.get()] { return c->is_over(); });
    throw;
  }
  std::vector<std::string> of_all(session_.world_size());
  for (std::size_t rank = 0; rank < of_all.size(); ++rank)
    of_all[rank].assign(reinterpret_cast<const char*>(row(rank)), own.size());
  return of_all;
}

void RankGroup::compare_weights_again(const WeightsFingerprint& mark) {
  if (!collective_) return;
  const auto waits = session_.in(Phase::kCollective);
  check_fingerprints_equal(all_gather(mark.whole), mark);
}

void RankGroup::broadcast_from_rank_0(std::span<std::uint8_t> bytes) const {
  if (!collective_) return;
  const auto waits = session_.in(Phase::kCollective);
  const std::string own(bytes.begin(), bytes.end());
  std::ranges::copy(all_gather(own).front(), bytes.begin());
}

void RankGroup::check_fingerprints_equal(const std::vector<std::string>& marks,
                                         const WeightsFingerprint& own) {
  const auto other = std::ranges::find_if(marks, [&](const std::string& mark) { return mark != marks[0]; });
  if (other == marks.end()) {
    last_equal_step_ = session_.steps_done();
    return;
  }
  const auto rank = static_cast<std::size_t>(other - marks.begin());
  fail(ExitCode::kConfiguration, "rank " + std::to_string(rank) + " has other weights than rank 0 at step " +
                                     std::to_string(session_.steps_done()) + ": " + describe_cause() + "; " +
                                     describe_difference(own, rank));
}

std::string RankGroup::describe_cause() const {
  if (session_.steps_done() == 0) {
    return "give all ranks the same seed (torch::manual_seed) before they make the model, and the same kind "
           "of device";
  }
  const std::string since = last_equal_step_ ? " since step " + std::to_string(*last_equal_step_) : "";
  const std::string cause =
      "the ranks have drifted apart" + since +
      ", because weights are changed by values that ranks do not share: a learning rate that follows the "
      "rank's own loss, a parameter that each rank updates by itself, or other CPU instructions or threads "
      "(--deterministic makes those equal). ";
  if (last_equal_step_) {
    return cause +
           "Let all ranks change weights by the same numbers, and start again: this step was not saved, and "
           "the run resumes from its newest checkpoint, in which the weights are equal";
  }
  return cause +
         "Let all ranks change weights by the same numbers, and resume from a checkpoint in which the "
         "weights are equal (--resume-from), or start one process alone, which continues with rank 0's "
         "weights, and more processes after its next save";
}

// describe_difference() contains collectives. All ranks call it in the same step, because all ranks compare
// the same fingerprints.
std::string RankGroup::describe_difference(const WeightsFingerprint& own, std::size_t rank) const {
  const std::string mine(reinterpret_cast<const char*>(own.sums.data()),
                         own.sums.size() * sizeof own.sums[0]);
  const std::uint64_t count = own.sums.size();
  std::vector<std::uint64_t> counts;
  for (const std::string& of_rank :
       all_gather(std::string(reinterpret_cast<const char*>(&count), sizeof count)))
    std::memcpy(&counts.emplace_back(), of_rank.data(), sizeof count);
  if (counts[0] != counts[rank]) {
    return "the models differ, too: rank 0 has " + std::to_string(counts[0]) + " parameters and rank " +
           std::to_string(rank) + " has " + std::to_string(counts[rank]);
  }
  if (std::ranges::any_of(counts, [&](std::uint64_t of_rank) { return of_rank != counts[0]; }))
    return "the models of other ranks differ, too";
  const auto sums = all_gather(mine);
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < own.names.size(); ++i)
    if (sums[0].compare(8 * i, 8, sums[rank], 8 * i, 8) != 0) different.push_back(i);
  if (different.empty()) return "the names of the parameters differ";
  return "of " + std::to_string(own.names.size()) + " parameters " + std::to_string(different.size()) +
         " differ, first \"" + own.names[different.front()] + "\"";
}

}  // namespace ratoon
