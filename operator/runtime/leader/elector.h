// Elector: takes part in the election of the leading operator by a Lease, and renews the Lease while it
// leads. operator/kube/objects/election.h explains the election's rule. The fence is open while this operator
// leads.
//
//   Fence fence;
//   Elector elector(client, clock, log, fence, {.name_space = "ratoon-system", .self = {.identity =
//   "pod-a/1"}}); while (!elector.is_leading()) ...
//
// Election does the work of Elector without a thread or a connection: next() returns the next call or pause,
// and note() gets the reply.
//
// Thread contract: one thread at a time calls next(), note() and give_back(); any thread may call the other
// methods.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/kube/objects/election.h"
#include "operator/kube/request.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/leader/fence.h"

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
    bool is_over = false;                            // no further step
    std::optional<Result<kube::ApiRequest>> call{};  // nothing: this step is a pause
    Duration time{0};                                // length of the pause, or timeout of the call
  };

  // The clock and the fence must outlive the Election.
  Election(const Clock& clock, Logger log, Fence& fence, ElectorOptions options);

  // Returns the next step: at most one read of the lease, then at most one claim, then a pause.
  [[nodiscard]] Step next();
  // Processes the reply to the call that next() returned.
  void note(const Result<nlohmann::json>& answer);
  // Returns the request that gives the leader lease back, if this process holds the lease. All writers must
  // have stopped before this process gives the lease back.
  [[nodiscard]] std::optional<Result<kube::ApiRequest>> give_back() const;

  [[nodiscard]] bool is_leading() const { return fence_.is_open(clock_.now()); }
  // Returns whether this process must end: it has lost its leadership, or the server's store was restored to
  // an older state.
  [[nodiscard]] bool is_lost() const { return is_over_ || (was_leading_ && !is_leading()); }
  // Returns whether the current leader is known: this operator leads, or it has read the lease recently.
  [[nodiscard]] bool is_known() const;

 private:
  enum class Stage { kBegins, kReads, kHasRead, kClaims, kHasClaimed };
  [[nodiscard]] Step move();
  [[nodiscard]] Step claim(const Result<kube::ApiRequest>& request);
  [[nodiscard]] Step pause();
  [[nodiscard]] Step step_down();
  void process_read_reply(const Result<nlohmann::json>& answer);
  void process_claim_reply(const Result<nlohmann::json>& answer);
  [[nodiscard]] kube::ObjectReference target() const;
  [[nodiscard]] Duration timeout() const;

  const Clock& clock_;
  const Logger log_;
  Fence& fence_;
  const ElectorOptions options_;
  Stage stage_ = Stage::kBegins;
  Timestamp claim_sent_at_;  // when the claim was sent
  kube::ElectionView view_;
  bool must_read_lease_ = true;  // the record may differ from the one in view_
  std::atomic<Timestamp> last_read_at_{};
  std::atomic<bool> was_leading_{false};
  std::atomic<bool> is_over_{false};
};

class Elector {
 public:
  // All arguments must outlive the elector. The client must have no fence.
  Elector(const ApiClient& client, const Clock& clock, const Logger& log, Fence& fence,
          ElectorOptions options);
  // Gives the lease back if this process holds it. Destroy the elector after all writers have stopped.
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
