// WishList: what the program of this rank asks for (a save, a save that is kept, the run's end), and at the
// end of which step it takes effect. That step follows from the step in which it was asked for alone: where
// the ranks agree once a step it is the next one, else the very step; and the run's last one has no next. No
// loss of a rank changes it, since what is pending is in the receipt of the step, and in the manifest from
// all ranks.
//
//   wishes.resume(manifest.run->wishes);             // of the step that the attempt begins behind
//   auto ticket = wishes.ask_to_save("the lowest loss");
//   agreed = or_over_all_ranks(wishes.bits());       // once a step, at any moment in it
//   agreed |= wishes.end_step(TakesEffect::kOneStepLater);
//   save(wishes.due(), wishes.pending());
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/src/checkpoint/run_record.h"
#include "agent/src/checkpoint/ticket.h"

namespace ratoon::session {

enum class TakesEffect { kAtOnce, kOneStepLater };

class WishList {
 public:
  WishList() = default;
  ~WishList();
  WishList(const WishList&) = delete;
  WishList& operator=(const WishList&) = delete;

  // What all ranks had wished for when the step was saved. No rank has to be asked for it again.
  void resume(const checkpoint::PendingWishes& of_all);

  // In the step under way. Several of a step are one, and the first reason stands.
  [[nodiscard]] checkpoint::Ticket ask_to_save(const std::string& keep);
  void finish(const std::string& reason);

  // For the control word of the step under way: what was wished for in the step before.
  [[nodiscard]] std::uint32_t bits() const;
  // What other ranks must hear of: in this step, or in the next one.
  [[nodiscard]] bool needs_agreement() const;

  // Bits of what takes effect now and what no other rank has to say.
  [[nodiscard]] std::uint32_t end_step(TakesEffect when);

  // After end_step(), where the run is at its end: there is no next step, so that what was asked for in this
  // one is of this one, which is saved in any case. Bits of that save. Another end has no effect any more.
  std::uint32_t end_run();

  // Of the step that ended: what takes effect with it as far as this rank knows the reasons, and what it
  // leaves to the next one.
  [[nodiscard]] const checkpoint::PendingWishes& due() const { return due_.wishes; }
  [[nodiscard]] const checkpoint::PendingWishes& pending() const { return told_.wishes; }
  // Of the save that is due; nothing where the program asked for none, or has it been taken.
  [[nodiscard]] std::optional<checkpoint::Ticket> take_ticket();

 private:
  struct Asked {
    checkpoint::PendingWishes wishes{};
    std::optional<checkpoint::Ticket> ticket{};
  };

  checkpoint::PendingWishes resumed_;
  Asked made_;  // in the step under way
  Asked told_;  // in the step before it: other ranks hear of it with the control word
  Asked due_;   // takes effect with the step that ended
};

[[nodiscard]] std::uint32_t bits_of(const checkpoint::PendingWishes& wishes);

}  // namespace ratoon::session
