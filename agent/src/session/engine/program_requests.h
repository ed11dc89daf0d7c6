// ProgramRequests: what the program of this rank requests (a save, a save that is kept, the end of the run),
// and at the end of which step it takes effect. That step depends only on the step of the request. If the
// ranks agree once a step, it is the next step, otherwise the same step; the last step of the run has no next
// one. A lost rank does not change it: pending requests are in the receipt of the step, and in the manifest
// from all ranks.
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

  // Restores what all ranks had requested when the step was saved. So no rank has to be asked again.
  void resume(const checkpoint::PendingRequests& of_all);

  // Requests of the current step. Several requests of a step count as one, and the first reason stands.
  [[nodiscard]] checkpoint::SavePromise ask_to_save(const std::string& keep);
  void finish(const std::string& reason);

  // For the control word of the current step: what was requested in the step before.
  [[nodiscard]] std::uint32_t bits() const;
  // Whether other ranks must learn of a request, in this step or in the next one.
  [[nodiscard]] bool needs_agreement() const;

  // Returns the bits of what takes effect now, as far as no other rank has to report it.
  [[nodiscard]] std::uint32_t end_step(TakesEffect when);

  // Called after end_step() when the run is at its end. There is no next step, so requests of this step
  // belong to it. It is saved in any case. Returns the bits of that save. A request to end has no effect any
  // longer.
  std::uint32_t end_run();

  // Called when the last checkpoint is committed. Requests that came after it was saved belong to it, too.
  struct Late {
    std::string keep{};  // the reason to pin it; empty: there is none
    std::optional<checkpoint::SavePromise> ticket{};
  };
  [[nodiscard]] Late take_late();

  // The requests that take effect with the step that ended, with the reasons that this rank knows, and those
  // that are left to the next step.
  [[nodiscard]] const checkpoint::PendingRequests& due() const { return due_.requests; }
  [[nodiscard]] const checkpoint::PendingRequests& pending() const { return told_.requests; }
  // The ticket of the save that is due; nullopt if the program asked for none, or if it was taken already.
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
