// ProgramRequests: the requests of this rank's program (a save, a pinned save, the end of the run), and the
// step at whose end each takes effect. If the ranks agree once a step, a request takes effect at the end of
// the next step; if not, at the end of its own step. In the last step of the run a request takes effect at
// the end of that step. A lost rank does not change the step in which a request takes effect: pending
// requests are in the receipt of the step, and in the manifest from all ranks.
//
//   requests.resume(manifest.run->requests);  // from the step that the attempt resumes
//   auto ticket = requests.ask_to_save("the lowest loss");
//   agreed = or_over_all_ranks(requests.bits());       // once a step, at any moment in it
//   agreed |= requests.end_step(TakesEffect::kOneStepLater);
//   save(requests.due(), requests.pending());
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/src/checkpoint/format/run_record.h"
#include "agent/src/checkpoint/saver/save_promise.h"

namespace ratoon::session {

enum class TakesEffect { kAtOnce, kOneStepLater };

class ProgramRequests {
 public:
  ProgramRequests() = default;
  ~ProgramRequests();
  ProgramRequests(const ProgramRequests&) = delete;
  ProgramRequests& operator=(const ProgramRequests&) = delete;

  // Restores the requests that all ranks had made when the checkpoint was saved, so that no program has to
  // repeat a request.
  void resume(const checkpoint::PendingRequests& of_all);

  // The functions below make requests in the current step. Several requests of one kind in a step count as
  // one request, with the first reason.
  [[nodiscard]] checkpoint::SavePromise ask_to_save(const std::string& keep);
  void finish(const std::string& reason);

  // Returns the bits for the current step's control word: the requests of the previous step.
  [[nodiscard]] std::uint32_t bits() const;
  // Returns whether other ranks must learn of a request of this rank, in this step or in the next step.
  [[nodiscard]] bool needs_agreement() const;

  // Returns the bits of the requests that take effect now, except requests that another rank reports.
  [[nodiscard]] std::uint32_t end_step(TakesEffect when);

  // Call end_run() after end_step() when the run is at its end. At its end a run has no next step, so
  // requests of this step belong to this step. The last step is always saved. Returns the request bits of the
  // run's last save. At that point a request to end the run has no effect, but its reason counts if the ranks
  // agreed in `agreed` to end the run here.
  std::uint32_t end_run(std::uint32_t agreed = 0);

  // Call take_late() when the last checkpoint is committed. A request that was made after the last checkpoint
  // was saved belongs to that checkpoint, too.
  struct Late {
    std::string keep{};  // the reason to pin it; empty: there is none
    std::optional<checkpoint::SavePromise> ticket{};
  };
  [[nodiscard]] Late take_late();

  // due() returns the requests that take effect with the step that ended, with the reasons that this rank
  // knows; pending() returns those for the next step.
  [[nodiscard]] const checkpoint::PendingRequests& due() const { return due_.requests; }
  [[nodiscard]] const checkpoint::PendingRequests& pending() const { return told_.requests; }
  // Returns the ticket of the save that is due; nullopt if the program requested no save, or if the ticket
  // was already taken.
  [[nodiscard]] std::optional<checkpoint::SavePromise> take_ticket();

 private:
  struct Asked {
    checkpoint::PendingRequests requests{};
    std::optional<checkpoint::SavePromise> ticket{};
  };

  checkpoint::PendingRequests resumed_;
  Asked made_;  // in the current step
  Asked told_;  // in the step before it: other ranks learn of it with the control word
  Asked due_;   // takes effect with the step that ended
};

[[nodiscard]] std::uint32_t bits_of(const checkpoint::PendingRequests& requests);

}  // namespace ratoon::session
