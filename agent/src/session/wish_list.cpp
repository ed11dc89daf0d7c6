#include "agent/src/session/wish_list.h"

#include <utility>

#include "agent/src/session/control_word.h"
#include "base/core/utf8.h"

namespace ratoon::session {

WishList::~WishList() {
  const Error ended(ErrorKind::kCancelled, "the attempt ended before the step did");
  for (const Asked* asked : {&made_, &told_, &due_})
    if (asked->ticket) asked->ticket->fail(ended);
}

// Of what was no text a manifest has more bytes than it was given.
void WishList::resume(const checkpoint::PendingWishes& of_all) {
  resumed_ = of_all;
  resumed_.keep = cut_text(of_all.keep, checkpoint::kReasonBytesMax);
  resumed_.finish = cut_text(of_all.finish, checkpoint::kReasonBytesMax);
}

checkpoint::Ticket WishList::ask_to_save(const std::string& keep) {
  made_.wishes.save = true;
  if (made_.wishes.keep.empty()) made_.wishes.keep = cut_text(keep, checkpoint::kReasonBytesMax);
  if (!made_.ticket) made_.ticket.emplace();
  return *made_.ticket;
}

void WishList::finish(const std::string& reason) {
  if (!made_.wishes.finish.empty()) return;
  made_.wishes.finish =
      reason.empty() ? "the program says so" : cut_text(reason, checkpoint::kReasonBytesMax);
}

std::uint32_t WishList::bits() const {
  return bits_of(told_.wishes);
}

bool WishList::needs_agreement() const {
  return !made_.wishes.is_empty() || !told_.wishes.is_empty();
}

std::uint32_t WishList::end_step(TakesEffect when) {
  const std::uint32_t known = bits_of(resumed_);
  due_ = std::exchange(told_, {});
  due_.wishes.join(std::exchange(resumed_, {}));
  // What is due already keeps its own save, and its own ticket.
  if (when == TakesEffect::kAtOnce && due_.wishes.is_empty()) {
    due_ = std::exchange(made_, {});
    return bits_of(due_.wishes);
  }
  told_ = std::exchange(made_, {});
  return known;
}

std::uint32_t WishList::end_run() {
  for (Asked* asked : {&told_, &made_}) {
    asked->wishes.finish.clear();
    due_.wishes.join(std::exchange(asked->wishes, {}));
    const auto ticket = std::exchange(asked->ticket, std::nullopt);
    if (ticket && due_.ticket)
      due_.ticket->carry(*ticket);
    else if (ticket)
      due_.ticket = ticket;
  }
  checkpoint::PendingWishes saves = due_.wishes;
  saves.finish.clear();
  return bits_of(saves);
}

std::optional<checkpoint::Ticket> WishList::take_ticket() {
  return std::exchange(due_.ticket, std::nullopt);
}

std::uint32_t bits_of(const checkpoint::PendingWishes& wishes) {
  std::uint32_t bits = 0;
  if (wishes.save || !wishes.keep.empty()) bits |= control::kSave;
  if (!wishes.keep.empty()) bits |= control::kKeep;
  if (!wishes.finish.empty()) bits |= control::kFinish;
  return bits;
}

}  // namespace ratoon::session
