// Ticket: that of a save, for who carries it out; who waits for it has its other half, a SaveTicket.
//
//   const Ticket ticket;
//   const SaveTicket given_out = ticket;
//   ticket.reach(SaveLevel::kStaged);
//
// Thread contract: any thread; copies are of one save.
#pragma once

#include <ratoon/save_ticket.h>

namespace ratoon::checkpoint {

class Ticket : public SaveTicket {
 public:
  Ticket();

  // Neither goes back, and what has failed stays so.
  void reach(SaveLevel level) const;
  void fail(const Error& why) const;
  // Nobody else has a copy.
  [[nodiscard]] bool is_the_last() const { return state_.use_count() == 1; }
};

}  // namespace ratoon::checkpoint
