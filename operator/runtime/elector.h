// Elector: has this process elected as the one operator that leads, by a Lease, and keeps it so. The rule is
// in operator/kube/election.h; the fence is open while we lead.
//
//   Fence fence;
//   Elector elector(client, clock, log, fence, {.name_space = "ratoon-system", .self = {.identity =
//   "pod-a/1"}}); while (!elector.is_leading()) ...
//
// Election: the same without a thread or a connection. It says which call or pause is next and is told the
// answer.
//
// Thread contract: next(), note() and give_back() are one thread's at a time; every other method may be
// called from any.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/kube/election.h"
#include "operator/kube/request.h"
#include "operator/runtime/api_client.h"
#include "operator/runtime/fence.h"

namespace ratoon::runtime {

struct ElectorOptions {
  std::string name_space;
  std::string name = "ratoon-operator";
  kube::Candidate self;
  kube::ElectionTimes times{};
};

class Election {
 public:
  struct Step {
    bool is_over = false;                         // there is none
    std::optional<Result<kube::Request>> call{};  // nothing: a pause
    Duration time{0};                             // of the pause, or for the answer
  };

  // All outlive it.
  Election(const Clock& clock, Logger log, Fence& fence, ElectorOptions options);

  // At most one read, then at most one claim, then a pause.
  [[nodiscard]] Step next();
  // The answer to the call that next() asked for.
  void note(const Result<nlohmann::json>& answer);
  // If we hold it: whoever writes must have stopped before.
  [[nodiscard]] std::optional<Result<kube::Request>> give_back() const;

  [[nodiscard]] bool is_leading() const { return fence_.is_open(clock_.now()); }
  // It led once and does no more, or the server was set back. That is for good: the process is to end.
  [[nodiscard]] bool is_lost() const { return is_over_ || (was_leading_ && !is_leading()); }
  // Whether it is known who leads: we do, or the lease was read lately.
  [[nodiscard]] bool is_known() const;

 private:
  enum class Stage { kBegins, kReads, kHasRead, kClaims, kHasClaimed };
  [[nodiscard]] Step move();
  [[nodiscard]] Step claim(const Result<kube::Request>& request);
  [[nodiscard]] Step pause();
  [[nodiscard]] Step step_down();
  void note_read(const Result<nlohmann::json>& answer);
  void note_claim(const Result<nlohmann::json>& answer);
  [[nodiscard]] kube::Target target() const;
  [[nodiscard]] Duration patience() const;

  const Clock& clock_;
  const Logger log_;
  Fence& fence_;
  const ElectorOptions options_;
  Stage stage_ = Stage::kBegins;
  Timestamp sent_;  // the claim
  kube::ElectionView view_;
  bool is_in_doubt_ = true;  // the record may be another than the one in view_
  std::atomic<Timestamp> read_{};
  std::atomic<bool> was_leading_{false};
  std::atomic<bool> is_over_{false};
};

class Elector {
 public:
  // All outlive it; the client must not be fenced.
  Elector(const ApiClient& client, const Clock& clock, const Logger& log, Fence& fence,
          ElectorOptions options);
  // Gives the lease back if we hold it: whoever writes must have stopped before.
  ~Elector();

  [[nodiscard]] bool is_leading() const { return election_.is_leading(); }
  [[nodiscard]] bool is_lost() const { return election_.is_lost(); }
  [[nodiscard]] bool is_known() const { return election_.is_known(); }

 private:
  void run(const std::stop_token& stop);

  const ApiClient& client_;
  const Logger log_;
  Fence& fence_;
  Election election_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace ratoon::runtime
