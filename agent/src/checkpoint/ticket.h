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
  // The save is that of another ticket as well, to which all of it is passed on. Before either gets anywhere.
  void carry(const Ticket& other) const;
  // Nobody else has a copy, nor one of those that it carries.
  [[nodiscard]] bool is_the_last() const;
};

}  // namespace ratoon::checkpoint
