#include "agent/src/session/group_meeting.h"

#include <type_traits>
#include <utility>

#include "agent/src/session/place_options.h"

namespace ratoon::session {
namespace {

// Not kTimeout: who joins tries that again, since a coordinator may come back.
template <class T>
Result<T> said_as_io(Result<T> answered) {
  if (answered || answered.error().kind() != ErrorKind::kTimeout) return answered;
  return Error(ErrorKind::kIo, answered.error().message());
}

std::string find_fault_of(const MeetingFolder& folder, std::uint32_t rank, const std::string& call) {
  const auto now = folder.find_call(rank);
  if (now && now->process.start == call) return "";
  // Last: what it did before it ended is known by then.
  if (folder.is_done(call)) return "";
  return "rank " + std::to_string(rank) + (now ? " has left the attempt" : " is gone");
}

std::string find_lost_rank(const MeetingFolder& folder, const std::vector<std::string>& calls) {
  for (std::uint32_t rank = 1; rank < calls.size(); ++rank) {
    if (auto fault = find_fault_of(folder, rank, calls[rank]); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace

template <class Ask>
auto GroupMeeting::patiently(Ask ask) const {
  return said_as_io((*calls_)(doing_, [folder = folder_, ask = std::move(ask)] { return ask(*folder); }));
}

Result<GroupMeeting> GroupMeeting::open(const Options& options,
                                        std::shared_ptr<checkpoint::PatientCalls> calls) {
  GroupMeeting meeting(std::move(calls), "meeting in " + home_of(options), options.group);
  const auto open = [run = run_folder(options),
                     group = options.group]() -> Result<std::shared_ptr<const MeetingFolder>> {
    auto folder = MeetingFolder::open(run, group);
    if (!folder) return folder.error();
    if (group.rank == 0) folder->sweep();
    return std::make_shared<const MeetingFolder>(*std::move(folder));
  };
  auto folder = said_as_io((*meeting.calls_)(meeting.doing_, open));
  if (!folder) return folder.error();
  meeting.folder_ = *std::move(folder);
  return meeting;
}

Result<void> GroupMeeting::call(const JoinRequest& request) const {
  return patiently([request](const MeetingFolder& folder) { return folder.call(request); });
}

Result<GroupMeeting::Calls> GroupMeeting::find_calls() const {
  return patiently([size = size_](const MeetingFolder& folder) -> Result<Calls> {
    Calls found(size);
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      auto call = folder.find_call(rank);
      if (call && !folder.is_answered(call->process.start)) found[rank] = std::move(call);
    }
    return found;
  });
}

Result<void> GroupMeeting::answer(const std::string& call, const Assignment& assignment) const {
  return patiently(
      [call, assignment](const MeetingFolder& folder) { return folder.answer(call, assignment); });
}

Result<void> GroupMeeting::refuse(const std::string& why) const {
  return patiently([size = size_, why](const MeetingFolder& folder) -> Result<void> {
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      const auto call = folder.find_call(rank);
      if (!call || folder.is_answered(call->process.start)) continue;
      if (auto refused = folder.refuse(call->process.start, why); !refused) return refused;
    }
    return {};
  });
}

Result<std::optional<std::string>> GroupMeeting::find_refusal(const std::string& call) const {
  return patiently([call](const MeetingFolder& folder) -> Result<std::optional<std::string>> {
    return folder.find_refusal(call);
  });
}

Result<void> GroupMeeting::note_end(const std::string& call, const std::string& why) const {
  return patiently([call, why](const MeetingFolder& folder) { return folder.refuse(call, why); });
}

Result<std::optional<GroupMeeting::Answer>> GroupMeeting::find_answer(const std::string& call) const {
  return patiently([call](const MeetingFolder& folder) -> Result<std::optional<Answer>> {
    auto answer = folder.find_answer(call);
    if (!answer) return answer.error();
    if (!*answer) return std::optional<Answer>();
    const auto first = folder.find_call(0);
    const bool is_from_it = first && first->address == (*answer)->rendezvous;
    return std::optional(Answer{.assignment = **std::move(answer),
                                .first_call = is_from_it ? first->process.start : std::string()});
  });
}

Result<void> GroupMeeting::forget(const std::vector<std::string>& calls) const {
  return patiently([calls](const MeetingFolder& folder) -> Result<void> {
    for (const std::string& call : calls) folder.forget(call);
    return {};
  });
}

Result<void> GroupMeeting::note_done(const std::string& call) const {
  return patiently([call](const MeetingFolder& folder) { return folder.note_done(call); });
}

Result<std::string> GroupMeeting::find_fault(Attempt attempt, const std::vector<std::string>& calls) const {
  return patiently([rank = rank_, attempt, calls](const MeetingFolder& folder) -> Result<std::string> {
    if (rank != 0) {
      auto why = folder.find_end(attempt);
      return why ? *std::move(why) : find_fault_of(folder, 0, calls[0]);
    }
    std::string fault = find_lost_rank(folder, calls);
    if (!fault.empty()) static_cast<void>(folder.end_attempt(attempt, fault));
    return fault;
  });
}

}  // namespace ratoon::session
