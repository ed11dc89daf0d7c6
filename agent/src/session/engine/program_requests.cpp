#include "agent/src/session/engine/program_requests.h"

#include <utility>

#include "agent/src/session/engine/control_word.h"
#include "base/core/utf8.h"

namespace ratoon::session {

ProgramRequests::~ProgramRequests() {
  const Error ended(ErrorKind::kCancelled, "the attempt ended before the step did");
  for (const Asked* asked : {&made_, &told_, &due_})
    if (asked->ticket) asked->ticket->fail(ended);
}

// A manifest replaces invalid UTF-8, so a reason read from a manifest may be longer than the original.
void ProgramRequests::resume(const checkpoint::PendingRequests& of_all) {
  resumed_ = of_all;
  resumed_.keep = cut_text(of_all.keep, checkpoint::kReasonBytesMax);
  resumed_.finish = cut_text(of_all.finish, checkpoint::kReasonBytesMax);
}

checkpoint::SavePromise ProgramRequests::ask_to_save(const std::string& keep) {
  made_.requests.save = true;
  // save_best() finds its own pinned checkpoints by their reason, so save() must not use such a reason.
  const std::string reason = checkpoint::is_marked_as_best(keep) ? keep + "." : keep;
  if (made_.requests.keep.empty()) made_.requests.keep = cut_text(reason, checkpoint::kReasonBytesMax);
  if (!made_.ticket) made_.ticket.emplace();
  return *made_.ticket;
}

void ProgramRequests::finish(const std::string& reason) {
  if (!made_.requests.finish.empty()) return;
  made_.requests.finish =
      reason.empty() ? "the program says so" : cut_text(reason, checkpoint::kReasonBytesMax);
}

std::uint32_t ProgramRequests::bits() const {
  return bits_of(told_.requests);
}

bool ProgramRequests::needs_agreement() const {
  return !made_.requests.is_empty() || !told_.requests.is_empty();
}

std::uint32_t ProgramRequests::end_step(TakesEffect when) {
  const std::uint32_t known = bits_of(resumed_);
  due_ = std::exchange(told_, {});
  due_.requests.join(std::exchange(resumed_, {}));
  // A request whose save is already due keeps its own save and ticket. A new request does not join that save,
  // and gets a save and a ticket of its own.
  if (when == TakesEffect::kAtOnce && due_.requests.is_empty()) {
    due_ = std::exchange(made_, {});
    return bits_of(due_.requests);
  }
  told_ = std::exchange(made_, {});
  return known;
}

std::uint32_t ProgramRequests::end_run(std::uint32_t agreed) {
  for (Asked* asked : {&told_, &made_}) {
    if ((agreed & control::kFinish) == 0) asked->requests.finish.clear();
    due_.requests.join(std::exchange(asked->requests, {}));
    const auto ticket = std::exchange(asked->ticket, std::nullopt);
    if (ticket && due_.ticket)
      due_.ticket->carry(*ticket);
    else if (ticket)
      due_.ticket = ticket;
  }
  checkpoint::PendingRequests saves = due_.requests;
  saves.finish.clear();
  return bits_of(saves);
}

ProgramRequests::Late ProgramRequests::take_late() {
  due_.requests = std::exchange(resumed_, {});
  end_run();
  return {.keep = due_.requests.keep, .ticket = take_ticket()};
}

std::optional<checkpoint::SavePromise> ProgramRequests::take_ticket() {
  return std::exchange(due_.ticket, std::nullopt);
}

std::uint32_t bits_of(const checkpoint::PendingRequests& requests) {
  std::uint32_t bits = 0;
  if (requests.save || !requests.keep.empty()) bits |= control::kSave;
  if (!requests.keep.empty()) bits |= control::kKeep;
  if (!requests.finish.empty()) bits |= control::kFinish;
  return bits;
}

}  // namespace ratoon::session
