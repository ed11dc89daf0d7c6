// SavePromise: reports the progress of a save to its SaveTicket, on which callers wait.
//
//   const SavePromise ticket;
//   const SaveTicket given_out = ticket;
//   ticket.reach(SaveLevel::kStaged);
//
// Thread contract: any thread. All copies refer to the same save.
#pragma once

#include <ratoon/save_ticket.h>

namespace ratoon::checkpoint {

class SavePromise : public SaveTicket {
 public:
  SavePromise();

  // A level never decreases, and a failure is final.
  void reach(SaveLevel level) const;
  void fail(const Error& why) const;
  // Passes all progress on to `other`, a ticket of the same save. Call carry() before this promise or `other`
  // has any progress.
  void carry(const SavePromise& other) const;
  // Whether no other copy exists of this promise or of the promises that it carries.
  [[nodiscard]] bool is_the_last() const;
};

}  // namespace ratoon::checkpoint
