#include "operator/runtime/members/endpoint_publisher.h"

#include "operator/kube/objects/endpoint_slice.h"

namespace ratoon::runtime {
namespace {

constexpr Duration kSliceTimeout = std::chrono::seconds(5);

}  // namespace

Result<void> EndpointPublisher::publish(const std::stop_token& stop) const {
  const std::string name = kube::endpoint_slice_name(options_.service, options_.address);
  const kube::ObjectReference slice{
      .resource = kube::kEndpointSlices, .name_space = options_.name_space, .name = name};
  const auto found = client_.call(kube::get(slice), stop, kSliceTimeout);
  if (!found && found.error().kind() == ErrorKind::kNotFound) return make(stop);
  if (!found) return found.error().with_context("reading EndpointSlice " + name);
  const auto patch = kube::make_slice_patch(*found, options_.service, options_.address, options_.port);
  if (patch.empty()) return {};
  const auto written = client_.call(kube::make_patch_request(slice, patch), stop, kSliceTimeout);
  if (!written)
    return written.error().with_context("directing members to this operator by EndpointSlice " + name);
  return {};
}

Result<void> EndpointPublisher::make(const std::stop_token& stop) const {
  const kube::ObjectReference place{
      .resource = kube::kEndpointSlices, .name_space = options_.name_space, .name = {}};
  const auto made = client_.call(
      kube::create(place, kube::make_endpoint_slice(options_.service, options_.address, options_.port)), stop,
      kSliceTimeout);
  if (!made)
    return made.error().with_context("creating the missing EndpointSlice " +
                                     kube::endpoint_slice_name(options_.service, options_.address));
  return {};
}

}  // namespace ratoon::runtime
