#include "agent/src/session/rendezvous/group_rendezvous.h"

#include <type_traits>
#include <utility>

#include "agent/src/session/options/location_options.h"

namespace ratoon::session {
namespace {

// Converts kTimeout to kIo, because the caller of join() would retry after kTimeout.
template <class T>
Result<T> convert_timeout_to_io_error(Result<T> answered) {
  if (answered || answered.error().kind() != ErrorKind::kTimeout) return answered;
  return Error(ErrorKind::kIo, answered.error().message());
}

GroupRendezvous::Fault find_fault_of_rank(const RendezvousFolder& folder, std::uint32_t rank,
                                          const std::string& call) {
  const auto now = folder.find_call(rank);
  if (!now) return {.why = "", .check_error = now.error()};
  if (*now && (*now)->process.start == call) return {};
  // First call find_call() and then is_done(), because a process records its completion before it ends.
  const auto is_done = folder.is_done(call);
  if (!is_done) return {.why = "", .check_error = is_done.error()};
  if (*is_done) return {};
  return {.why = "rank " + std::to_string(rank) + (*now ? " has left the attempt" : " is gone"),
          .check_error = {}};
}

// Returns the first rank that is known to be lost or, if there is none, a rank whose state could not be
// checked.
GroupRendezvous::Fault find_lost_rank(const RendezvousFolder& folder, const std::vector<std::string>& calls) {
  GroupRendezvous::Fault found;
  for (std::uint32_t rank = 1; rank < calls.size(); ++rank) {
    auto fault = find_fault_of_rank(folder, rank, calls[rank]);
    if (!fault.why.empty()) return fault;
    if (fault.check_error) found = std::move(fault);
  }
  return found;
}

// Returns the name of the rank's call file, if the rank has written one.
Result<std::optional<std::string>> find_call_name(const RendezvousFolder& folder, std::uint32_t rank) {
  const auto call = folder.find_call(rank);
  if (!call) return call.error();
  if (!*call) return std::optional<std::string>();
  return std::optional((*call)->process.start);
}

// Returns whether a rank without a call file has reported that it ends and would fail again after a restart.
bool has_reported_end(const RendezvousFolder& folder, std::uint32_t rank, const std::string& own_call,
                      const std::vector<std::string>& former) {
  if (!own_call.empty()) {
    const auto told = folder.find_end_before_call(own_call, rank);
    if (told && *told) return true;
  }
  if (rank >= former.size() || former[rank].empty()) return false;
  const auto told = folder.find_refusal(former[rank]);
  return told && *told;
}

}  // namespace

template <class Ask>
auto GroupRendezvous::call_with_timeout(Ask ask) const {
  return convert_timeout_to_io_error((*calls_with_timeout_)(
      action_text_, [folder = folder_, ask = std::move(ask)] { return ask(*folder); }));
}

Result<GroupRendezvous> GroupRendezvous::open(const Options& options,
                                              std::shared_ptr<checkpoint::CallsWithTimeout> calls,
                                              Sweep sweep) {
  GroupRendezvous meeting(std::move(calls), "meeting in " + home_location(options), options.group);
  const auto open = [sweep, run = run_folder(options),
                     group = options.group]() -> Result<std::shared_ptr<const RendezvousFolder>> {
    auto folder = RendezvousFolder::open(run, group);
    if (!folder) return folder.error();
    if (group.rank == 0 && sweep == Sweep::kFormerLaunches) folder->remove_former_launches();
    return std::make_shared<const RendezvousFolder>(*std::move(folder));
  };
  auto folder = convert_timeout_to_io_error((*meeting.calls_with_timeout_)(meeting.action_text_, open));
  if (!folder) return folder.error();
  meeting.folder_ = *std::move(folder);
  return meeting;
}

GroupRendezvous GroupRendezvous::open_without_lock(const Options& options,
                                                   std::shared_ptr<checkpoint::CallsWithTimeout> calls) {
  GroupRendezvous meeting(std::move(calls), "meeting in " + home_location(options), options.group);
  meeting.is_opened_without_lock_ = true;
  meeting.folder_ = std::make_shared<const RendezvousFolder>(
      RendezvousFolder::open_without_lock(run_folder(options), options.group));
  return meeting;
}

std::optional<bool> GroupRendezvous::is_rank_of_another_launch() const {
  const auto is_known =
      call_with_timeout([](const RendezvousFolder& folder) { return folder.is_rank_of_another_launch(); });
  return is_known ? *is_known : std::nullopt;
}

Result<void> GroupRendezvous::call(const JoinRequest& request) const {
  return call_with_timeout([request](const RendezvousFolder& folder) { return folder.call(request); });
}

Result<GroupRendezvous::FoundCalls> GroupRendezvous::find_calls() const {
  return call_with_timeout([size = size_](const RendezvousFolder& folder) -> Result<FoundCalls> {
    FoundCalls found{.calls = Calls(size), .check_error = {}};
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      auto call = folder.find_call(rank);
      if (!call) found.check_error = call.error();
      if (!call || !*call) continue;
      const auto is_answered = folder.is_answered((*call)->process.start);
      if (!is_answered) found.check_error = is_answered.error();
      if (is_answered && !*is_answered) found.calls[rank] = *std::move(call);
    }
    return found;
  });
}

Result<void> GroupRendezvous::answer(const std::string& call, const Answer& answer) const {
  return call_with_timeout(
      [call, answer](const RendezvousFolder& folder) { return folder.answer(call, answer); });
}

Result<bool> GroupRendezvous::end_before_call(const std::string& why, const std::string& own_call,
                                              const std::vector<std::string>& former) const {
  return call_with_timeout([own = rank_, size = size_, is_beside_holder = is_opened_without_lock_, why,
                            own_call, former](const RendezvousFolder& folder) -> Result<bool> {
    const auto held = is_beside_holder ? find_call_name(folder, own) : std::optional<std::string>();
    if (!held) return held.error();
    if (*held) return true;
    bool are_all_told = true;
    for (std::uint32_t rank = 0; rank < (own == 0 ? size : 1); ++rank) {
      if (rank == own) continue;
      const auto call = find_call_name(folder, rank);
      if (!call) return call.error();
      // A rank whose join request already has an answer is still in an attempt with an earlier rank 0. Ignore
      // this request, because the rank will end that attempt and request to join again.
      const auto is_in_world = own == 0 && *call ? folder.is_answered(**call) : Result<bool>(false);
      if (!is_in_world) return is_in_world.error();
      // If rank 0 led an earlier attempt, that attempt's ranks find the reason in rank 0's earlier call file.
      const bool is_waited_for =
          *call ? *is_in_world && former.empty() : !has_reported_end(folder, rank, own_call, former);
      are_all_told = are_all_told && !is_waited_for;
      if (!*call || *is_in_world) continue;
      auto told = own == 0 ? folder.refuse(**call, why) : folder.end_before_call(**call, why);
      if (!told) return told.error();
    }
    return are_all_told;
  });
}

Result<std::optional<std::string>> GroupRendezvous::find_end_before_call(
    const std::string& own_call, const std::vector<std::uint32_t>& ranks) const {
  return call_with_timeout(
      [own_call, ranks](const RendezvousFolder& folder) -> Result<std::optional<std::string>> {
        for (const std::uint32_t rank : ranks) {
          const auto why = folder.find_end_before_call(own_call, rank);
          // If the read of the reason fails, the next check reads it again.
          if (why && *why) return std::optional("rank " + std::to_string(rank) + " ended for good: " + **why);
        }
        return std::optional<std::string>();
      });
}

Result<std::optional<std::string>> GroupRendezvous::find_refusal(const std::string& call) const {
  return call_with_timeout([call](const RendezvousFolder& folder) -> Result<std::optional<std::string>> {
    auto refusal = folder.find_refusal(call);
    if (refusal) return refusal;
    return std::optional<std::string>();  // a refusal that cannot be read now is read with the next look
  });
}

Result<void> GroupRendezvous::note_end(const std::string& call, const std::string& why) const {
  return call_with_timeout([call, why](const RendezvousFolder& folder) { return folder.refuse(call, why); });
}

Result<GroupRendezvous::FoundAnswer> GroupRendezvous::find_answer(const std::string& call) const {
  return call_with_timeout([call](const RendezvousFolder& folder) -> Result<FoundAnswer> {
    auto answer = folder.find_answer(call);
    if (answer) return FoundAnswer{.answer = *std::move(answer), .check_error = {}};
    if (answer.error().kind() == ErrorKind::kInvalid) return answer.error();
    return FoundAnswer{.answer = {}, .check_error = answer.error()};  // the next look may succeed
  });
}

Result<void> GroupRendezvous::forget(const std::vector<std::string>& calls) const {
  return call_with_timeout([calls](const RendezvousFolder& folder) -> Result<void> {
    for (const std::string& call : calls) folder.forget(call);
    return {};
  });
}

Result<void> GroupRendezvous::note_done(const std::string& call) const {
  return call_with_timeout([call](const RendezvousFolder& folder) { return folder.note_done(call); });
}

Result<GroupRendezvous::Fault> GroupRendezvous::find_fault(Attempt attempt,
                                                           const std::vector<std::string>& calls) const {
  return call_with_timeout([rank = rank_, attempt, calls](const RendezvousFolder& folder) -> Result<Fault> {
    if (rank != 0) {
      auto why = folder.find_end(attempt);
      if (!why) return Fault{.why = "", .check_error = why.error()};
      return *why ? Fault{.why = **std::move(why), .check_error = {}}
                  : find_fault_of_rank(folder, 0, calls[0]);
    }
    Fault fault = find_lost_rank(folder, calls);
    if (!fault.why.empty()) static_cast<void>(folder.end_attempt(attempt, fault.why));
    return fault;
  });
}

}  // namespace ratoon::session
