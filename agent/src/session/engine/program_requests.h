// ProgramRequests: the requests of the program on this rank (a save, a pinned save, the end of the run), and
// the steps at which they take effect. If the ranks exchange requests in every step (Session::agree()), a
// request takes effect at the end of the next step, else at the end of the current step. In the last step of
// the run, a request takes effect at the end of this step. Each save contains the pending requests of all
// ranks, so a request takes effect in the same step even if a rank is lost. A request to unpin needs no
// exchange between ranks. The receipt with which a rank confirms a save contains that rank's requests to
// unpin, and the commit of the save carries out these requests.
//
//   requests.resume(manifest.run->requests);  // from the step that the attempt resumes
//   auto ticket = requests.ask_to_save("the lowest loss");
//   agreed = or_over_all_ranks(requests.bits());       // once a step, at any moment in it
//   agreed |= requests.end_step(EffectTime::kOneStepLater);
//   save(requests.due(), requests.pending());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/src/checkpoint/format/run_record.h"
#include "agent/src/checkpoint/saver/save_promise.h"

namespace ratoon::session {

enum class EffectTime { kAtOnce, kOneStepLater };

class ProgramRequests {
 public:
  ProgramRequests() = default;
  ~ProgramRequests();
  ProgramRequests(const ProgramRequests&) = delete;
  ProgramRequests& operator=(const ProgramRequests&) = delete;

  // Restores the requests that were pending when the checkpoint was saved, so that no program has to repeat a
  // request.
  void resume(const checkpoint::PendingRequests& of_all);

  // ask_to_save() and finish() record requests of the program in the current step. Several requests of the
  // same kind in one step count as one request, with the reason of the first.
  [[nodiscard]] checkpoint::SavePromise ask_to_save(const std::string& keep);
  void finish(const std::string& reason);
  // Requests to unpin the checkpoint of `step`. Returns false if the program has made too many such requests
  // since the last save.
  [[nodiscard]] bool unpin(std::uint64_t step);

  // Takes over the requests to unpin that the record of the resumed checkpoint contains.
  void resume_unpin_requests(std::vector<checkpoint::UnpinnedStep> unpinned);
  // Returns the requests to unpin, for the record of the checkpoint `id`, which is saved now.
  [[nodiscard]] const std::vector<checkpoint::UnpinnedStep>& record_unpin_requests(
      const checkpoint::CheckpointId& id);
  // Returns the steps that the program asked to unpin after the last save.
  [[nodiscard]] std::vector<std::uint64_t> take_unsaved_unpin_steps();

  // Returns the requests of the previous step, as bits for the current step's control word, which the ranks
  // exchange.
  [[nodiscard]] std::uint32_t bits() const;
  // Returns whether this rank has a request that the ranks must exchange in this or the next step.
  [[nodiscard]] bool needs_agreement() const;

  // Returns, as bits, the requests that take effect now, without the requests of other ranks.
  [[nodiscard]] std::uint32_t end_step(EffectTime when);

  // The engine calls end_run() at the run's end, after end_step(). At the run's end there is no next step, so
  // requests of the last step take effect in the last step itself. The last step is always saved. Returns, as
  // bits, the requests that the run's last save fulfils. The run ends anyway, so a new request to end it
  // changes nothing. If `agreed` contains the request to end, the end gets the reason of that request.
  std::uint32_t end_run(std::uint32_t agreed = 0);

  // The engine calls take_late_requests() when the last checkpoint is committed. A request after the save of
  // the last checkpoint also applies to that checkpoint.
  struct Late {
    std::string keep{};  // the reason to pin it; empty: there is none
    std::optional<checkpoint::SavePromise> ticket{};
  };
  [[nodiscard]] Late take_late_requests();

  // due() returns the requests that take effect with the step that ended, with the reasons that this rank
  // knows. pending() returns the requests for the next step.
  [[nodiscard]] const checkpoint::PendingRequests& due() const { return due_requests_.requests; }
  [[nodiscard]] const checkpoint::PendingRequests& pending() const { return exchanged_requests_.requests; }
  // Returns the SaveTicket of the save that is due; nullopt if the program requested no save, or if
  // take_ticket() has already returned the ticket.
  [[nodiscard]] std::optional<checkpoint::SavePromise> take_ticket();

 private:
  struct RequestsWithTicket {
    checkpoint::PendingRequests requests{};
    std::optional<checkpoint::SavePromise> ticket{};
  };

  checkpoint::PendingRequests resumed_requests_;
  std::vector<std::uint64_t> unsaved_unpin_steps_;  // since the last save
  std::vector<checkpoint::UnpinnedStep>
      recorded_unpin_requests_;          // in records of earlier saves, the oldest first
  RequestsWithTicket requests_of_step_;  // in the current step
  RequestsWithTicket
      exchanged_requests_;           // in the step before it: other ranks learn of it with the control word
  RequestsWithTicket due_requests_;  // takes effect with the step that ended
};

[[nodiscard]] std::uint32_t bits_of(const checkpoint::PendingRequests& requests);

}  // namespace ratoon::session
