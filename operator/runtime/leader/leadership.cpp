#include "operator/runtime/leader/leadership.h"

namespace ratoon::runtime {
namespace {

// The pause between two checks of the EndpointSlice. It is short, so that the operator restores a slice that
// a user deleted or emptied before many members notice.
constexpr Duration kEndpointCheckInterval = std::chrono::seconds(2);
constexpr Duration kEndpointRetryPause = std::chrono::milliseconds(500);

}  // namespace

Leadership::Leadership(const kube::ApiServerAccess& access, const Clock& clock, Logger log,
                       ApiClient::OnCall on_call, LeadershipOptions options)
    : clock_(clock),
      log_(std::move(log)),
      options_(std::move(options)),
      lease_client_(access, clock, on_call),
      client_(access, clock, on_call, fence()) {
  if (options_.own_endpoint) {
    endpoint_publisher_.emplace(client_, EndpointPublisherOptions{.name_space = access.name_space,
                                                                  .service = options_.own_endpoint->service,
                                                                  .address = options_.own_endpoint->address,
                                                                  .port = options_.port});
  }
}

void Leadership::begin() {
  if (!options_.uses_election) return;
  const std::string& name_space = lease_client_.name_space();
  elector_ = std::make_unique<Elector>(lease_client_, clock_, log_, fence_,
                                       ElectorOptions{.name_space = name_space,
                                                      .name = options_.lease_name,
                                                      .self = options_.self,
                                                      .times = options_.times});
}

bool Leadership::is_leading() const {
  return !options_.uses_election || (elector_ && elector_->is_leading());
}

bool Leadership::publish_endpoint() {
  if (!endpoint_publisher_) return true;
  const Timestamp now = clock_.now();
  if (next_check_ && now < *next_check_) return is_endpoint_published_;
  const auto done = endpoint_publisher_->publish({});
  if (done) is_endpoint_published_ = true;
  endpoint_problem_ = done ? "" : "members may not find this operator: " + done.error().message();
  if (!done) log_.warning("members may not find this operator", {{"error", done.error().message()}});
  next_check_ = clock_.now() + (done ? kEndpointCheckInterval : kEndpointRetryPause);
  return is_endpoint_published_;
}

}  // namespace ratoon::runtime
