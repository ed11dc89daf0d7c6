// SavePromise: reports the progress of a save to its SaveTicket, on which callers wait.
//
//   const SavePromise ticket;
//   const SaveTicket given_out = ticket;
//   ticket.reach(SaveLevel::kStaged);
//
// Thread contract: any thread may call any function. All copies of a SavePromise refer to the same save.
#pragma once

#include <ratoon/save_ticket.h>

namespace ratoon::checkpoint {

class SavePromise : public SaveTicket {
 public:
  SavePromise();

  // The level that a save has reached never decreases, and a save that has failed never succeeds later.
  void reach(SaveLevel level) const;
  void fail(const Error& why) const;
  // Makes `other` a second promise for the same save: it gets all further reports of this promise, too. Call
  // attach() before the first progress of this promise or of `other` is reported.
  void attach(const SavePromise& other) const;
  // Returns true if no other copy exists of this promise or of the promises that were attached to it by
  // attach().
  [[nodiscard]] bool is_last_copy() const;
};

}  // namespace ratoon::checkpoint
