#include "operator/runtime/door_plate.h"

#include "operator/kube/endpoint_slice.h"

namespace ratoon::runtime {
namespace {

constexpr Duration kSliceTimeout = std::chrono::seconds(5);

}  // namespace

Result<void> DoorPlate::put_up(const std::stop_token& stop) const {
  const std::string name = kube::slice_name(options_.service, options_.address);
  const kube::Target slice{
      .resource = kube::kEndpointSlices, .name_space = options_.name_space, .name = name};
  const auto found = client_.call(kube::get(slice), stop, kSliceTimeout);
  if (!found && found.error().kind() == ErrorKind::kNotFound) return make(stop);
  if (!found) return found.error().with_context("looking where members are led by EndpointSlice " + name);
  const auto patch = kube::lead_to(*found, options_.address, options_.port);
  if (patch.empty()) return {};
  const auto written = client_.call(kube::merge_patch(slice, patch), stop, kSliceTimeout);
  if (!written) return written.error().with_context("leading members here by EndpointSlice " + name);
  return {};
}

Result<void> DoorPlate::make(const std::stop_token& stop) const {
  const kube::Target place{.resource = kube::kEndpointSlices, .name_space = options_.name_space, .name = {}};
  const auto made =
      client_.call(kube::create(place, kube::make_slice(options_.service, options_.address, options_.port)),
                   stop, kSliceTimeout);
  if (!made)
    return made.error().with_context(
        "making EndpointSlice " + kube::slice_name(options_.service, options_.address) + ", which is gone");
  return {};
}

}  // namespace ratoon::runtime
