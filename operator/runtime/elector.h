// Elector: has this process elected as the one operator that leads, by a Lease, and keeps it so. The rule is
// in operator/kube/election.h; the fence is open while we lead.
//
//   Fence fence;
//   Elector elector(client, clock, log, fence, {.name_space = "ratoon-system", .self = {.identity =
//   "pod-a/1"}}); while (!elector.is_leading()) ...
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include <nlohmann/json_fwd.hpp>

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

class Elector {
 public:
  // All outlive it; the client must not be fenced.
  Elector(const ApiClient& client, const Clock& clock, Logger log, Fence& fence, ElectorOptions options);
  // Gives the lease back if we hold it: whoever writes must have stopped before.
  ~Elector();

  [[nodiscard]] bool is_leading() const { return fence_.is_open(clock_.now()); }
  // It led once and does no more, or the server was set back. That is for good: the process is to end.
  [[nodiscard]] bool is_lost() const { return is_over_ || (was_leading_ && !is_leading()); }
  // Whether it is known who leads: we do, or the lease was read lately.
  [[nodiscard]] bool is_known() const;

 private:
  void run(const std::stop_token& stop);
  // One read and at most one claim. False: it is over.
  bool turn(const std::stop_token& stop);
  void read(const std::stop_token& stop);
  void claim(const Result<kube::Request>& request, const std::stop_token& stop);
  void give_back();
  [[nodiscard]] kube::Target target() const;
  [[nodiscard]] Duration patience() const;

  const ApiClient& client_;
  const Clock& clock_;
  const Logger log_;
  Fence& fence_;
  const ElectorOptions options_;
  kube::ElectionView view_;  // of the thread
  bool is_in_doubt_ = true;  // of the thread: the record may be another than the one in view_
  std::atomic<Timestamp> read_{};
  std::atomic<bool> was_leading_{false};
  std::atomic<bool> is_over_{false};
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace ratoon::runtime
