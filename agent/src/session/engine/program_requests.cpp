#include "agent/src/session/engine/program_requests.h"

#include <algorithm>
#include <utility>

#include "agent/src/session/engine/control_word.h"
#include "base/core/utf8.h"

namespace ratoon::session {

ProgramRequests::~ProgramRequests() {
  const Error ended(ErrorKind::kCancelled, "the attempt ended before the step did");
  for (const RequestsWithTicket* asked : {&requests_of_step_, &exchanged_requests_, &due_requests_})
    if (asked->ticket) asked->ticket->fail(ended);
}

// Cuts reasons again, because a manifest replaces invalid UTF-8, which may make a reason longer.
void ProgramRequests::resume(const checkpoint::PendingRequests& of_all) {
  resumed_requests_ = of_all;
  resumed_requests_.keep = cut_text(of_all.keep, checkpoint::kReasonBytesMax);
  resumed_requests_.finish = cut_text(of_all.finish, checkpoint::kReasonBytesMax);
}

checkpoint::SavePromise ProgramRequests::ask_to_save(const std::string& keep) {
  requests_of_step_.requests.save = true;
  // save_best() finds its own pinned checkpoints by their reason, so save() must use another reason.
  const std::string reason = checkpoint::is_marked_as_best(keep) ? keep + "." : keep;
  if (requests_of_step_.requests.keep.empty())
    requests_of_step_.requests.keep = cut_text(reason, checkpoint::kReasonBytesMax);
  if (!requests_of_step_.ticket) requests_of_step_.ticket.emplace();
  return *requests_of_step_.ticket;
}

void ProgramRequests::finish(const std::string& reason) {
  if (!requests_of_step_.requests.finish.empty()) return;
  requests_of_step_.requests.finish =
      reason.empty() ? "finish() was called without a reason" : cut_text(reason, checkpoint::kReasonBytesMax);
}

bool ProgramRequests::unpin(std::uint64_t step) {
  if (std::ranges::find(unsaved_unpin_steps_, step) != unsaved_unpin_steps_.end()) return true;
  if (unsaved_unpin_steps_.size() == checkpoint::kUnpinnedOfRankMax) return false;
  unsaved_unpin_steps_.push_back(step);
  return true;
}

void ProgramRequests::resume_unpin_requests(std::vector<checkpoint::UnpinnedStep> unpinned) {
  recorded_unpin_requests_ = std::move(unpinned);
  std::ranges::sort(recorded_unpin_requests_, {}, &checkpoint::UnpinnedStep::since);
}

const std::vector<checkpoint::UnpinnedStep>& ProgramRequests::record_unpin_requests(
    const checkpoint::CheckpointId& id) {
  for (const std::uint64_t step : std::exchange(unsaved_unpin_steps_, {})) {
    std::erase_if(recorded_unpin_requests_, [step](const auto& one) { return one.step == step; });
    recorded_unpin_requests_.push_back({.step = step, .since = id});
  }
  if (recorded_unpin_requests_.size() > checkpoint::kUnpinnedOfRankMax)
    recorded_unpin_requests_.erase(recorded_unpin_requests_.begin(),
                                   recorded_unpin_requests_.end() - checkpoint::kUnpinnedOfRankMax);
  return recorded_unpin_requests_;
}

std::vector<std::uint64_t> ProgramRequests::take_unsaved_unpin_steps() {
  return std::exchange(unsaved_unpin_steps_, {});
}

std::uint32_t ProgramRequests::bits() const {
  return bits_of(exchanged_requests_.requests);
}

bool ProgramRequests::needs_agreement() const {
  return !requests_of_step_.requests.is_empty() || !exchanged_requests_.requests.is_empty();
}

std::uint32_t ProgramRequests::end_step(EffectTime when) {
  const std::uint32_t known = bits_of(resumed_requests_);
  due_requests_ = std::exchange(exchanged_requests_, {});
  due_requests_.requests.merge_requests(std::exchange(resumed_requests_, {}));
  // If earlier requests are due now, new requests wait until the next step, so that each request has its own
  // save and ticket.
  if (when == EffectTime::kAtOnce && due_requests_.requests.is_empty()) {
    due_requests_ = std::exchange(requests_of_step_, {});
    return bits_of(due_requests_.requests);
  }
  exchanged_requests_ = std::exchange(requests_of_step_, {});
  return known;
}

std::uint32_t ProgramRequests::end_run(std::uint32_t agreed) {
  for (RequestsWithTicket* asked : {&exchanged_requests_, &requests_of_step_}) {
    if ((agreed & control::kFinish) == 0) asked->requests.finish.clear();
    due_requests_.requests.merge_requests(std::exchange(asked->requests, {}));
    const auto ticket = std::exchange(asked->ticket, std::nullopt);
    if (ticket && due_requests_.ticket)
      due_requests_.ticket->attach(*ticket);
    else if (ticket)
      due_requests_.ticket = ticket;
  }
  checkpoint::PendingRequests saves = due_requests_.requests;
  saves.finish.clear();
  return bits_of(saves);
}

ProgramRequests::Late ProgramRequests::take_late_requests() {
  due_requests_.requests = std::exchange(resumed_requests_, {});
  end_run();
  return {.keep = due_requests_.requests.keep, .ticket = take_ticket()};
}

std::optional<checkpoint::SavePromise> ProgramRequests::take_ticket() {
  return std::exchange(due_requests_.ticket, std::nullopt);
}

std::uint32_t bits_of(const checkpoint::PendingRequests& requests) {
  std::uint32_t bits = 0;
  if (requests.save || !requests.keep.empty()) bits |= control::kSave;
  if (!requests.keep.empty()) bits |= control::kPinCheckpoint;
  if (!requests.finish.empty()) bits |= control::kFinish;
  return bits;
}

}  // namespace ratoon::session
