// operator/runtime/leader/: elects one leader among several operators. Leadership: says whether this operator
// is the leader, which runs the jobs. While this operator leads, Leadership directs members to this operator.
//
// Thread contract: one thread calls begin(), publish_endpoint() and endpoint_problem(); any thread may call
// the other methods.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/kube/objects/election.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/api_server/discovery.h"
#include "operator/runtime/leader/elector.h"
#include "operator/runtime/leader/fence.h"
#include "operator/runtime/members/endpoint_publisher.h"

namespace ratoon::runtime {

struct LeadershipOptions {
  bool uses_election = false;  // false: there is one operator and it always leads
  std::string lease_name;
  kube::ElectionTimes times{};
  kube::Candidate self;
  std::optional<OwnEndpoint> own_endpoint;
  std::uint16_t port = 0;  // the port that members call
};

class Leadership {
 public:
  // The clock must outlive this object. The operator takes part in the election from the call of begin() on.
  Leadership(const kube::ApiServerAccess& access, const Clock& clock, Logger log, ApiClient::OnCall on_call,
             LeadershipOptions options);

  void begin();

  [[nodiscard]] bool is_leading() const;
  [[nodiscard]] bool is_lost() const { return elector_ && elector_->is_lost(); }
  [[nodiscard]] bool is_known() const {
    return !options_.uses_election || (elector_ && elector_->is_known());
  }
  // Returns the fence, which is closed while this operator does not lead; null if there is no election.
  [[nodiscard]] const Fence* fence() const { return options_.uses_election ? &fence_ : nullptr; }

  // Directs members to this operator. Call publish_endpoint() every few seconds. Returns whether members are
  // directed to this operator.
  bool publish_endpoint();
  // Returns why members may not find this operator, according to the last check. Returns an empty text if
  // members find this operator.
  [[nodiscard]] const std::string& endpoint_problem() const { return endpoint_problem_; }

 private:
  const Clock& clock_;
  const Logger log_;
  const LeadershipOptions options_;
  Fence fence_;
  const ApiClient lease_client_;  // has its own connections, so that no other call delays a renewal
  const ApiClient client_;
  std::optional<EndpointPublisher> endpoint_publisher_;
  std::unique_ptr<Elector> elector_;
  std::optional<Timestamp> next_check_;  // of the published endpoint
  std::string endpoint_problem_;
  bool is_endpoint_published_ = false;
};

}  // namespace ratoon::runtime
