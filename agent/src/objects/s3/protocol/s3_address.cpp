#include "agent/src/objects/s3/protocol/s3_address.h"

#include <algorithm>

namespace ratoon::objects {
namespace {

std::string aws_domain_of_region(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

Error invalid_endpoint_error(std::string_view endpoint, std::string_view problem) {
  const bool may_hold_a_password = endpoint.find('@') != std::string_view::npos;
  return {ErrorKind::kInvalid, "the S3 endpoint '" + std::string(may_hold_a_password ? "..." : endpoint) +
                                   "': " + std::string(problem) +
                                   "; expected https://host or http://host:port"};
}

// Returns true if the bucket's name can be the first label of a host name.
bool is_dns_label(std::string_view bucket) {
  const auto is_edge = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return bucket.size() >= 3 && bucket.size() <= 63 && is_edge(bucket.front()) && is_edge(bucket.back()) &&
         std::all_of(bucket.begin(), bucket.end(), [&](char c) { return is_edge(c) || c == '-'; });
}

bool is_region(std::string_view region) {
  return !region.empty() && region.size() <= 64 && std::all_of(region.begin(), region.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace

Result<S3Address> s3_address_of(const S3Location& place) {
  S3Address address;
  std::string_view endpoint = place.endpoint;
  std::string root = "/";
  std::string scheme = "https://";
  if (endpoint.empty()) {
    if (!is_region(place.region)) {
      return Error(ErrorKind::kInvalid, "the AWS region '" + place.region +
                                            "' is not valid; expected a name such as eu-central-1 (option "
                                            "region, AWS_REGION, AWS_DEFAULT_REGION or the profile's)");
    }
    address.host = "s3." + place.region + '.' + aws_domain_of_region(place.region);
  } else {
    if (endpoint.starts_with("http://")) {
      scheme = "http://";
    } else if (!endpoint.starts_with("https://")) {
      return invalid_endpoint_error(endpoint, "the endpoint has another scheme than http or https");
    }
    address.is_encrypted = scheme == "https://";
    endpoint.remove_prefix(scheme.size());
    if (endpoint.find_first_of("?#@ ") != std::string_view::npos)
      return invalid_endpoint_error(place.endpoint, "the endpoint has more than host, port and path");
    const std::size_t slash = std::min(endpoint.find('/'), endpoint.size());
    address.host = endpoint.substr(0, slash);
    if (address.host.empty())
      return invalid_endpoint_error(place.endpoint, "the endpoint does not name a host");
    root = endpoint.substr(slash);
    if (!root.ends_with('/')) root += '/';
    // HTTP clients leave the default port of the scheme out of the Host header, so the signature must not
    // contain it either.
    const std::string_view usual = address.is_encrypted ? ":443" : ":80";
    if (address.host.ends_with(usual)) address.host.resize(address.host.size() - usual.size());
  }
  const bool in_path = place.uses_path_style.value_or(!place.endpoint.empty() || !is_dns_label(place.bucket));
  if (!in_path && !is_dns_label(place.bucket)) {
    return Error(ErrorKind::kInvalid,
                 "the bucket '" + place.bucket + "' cannot be part of a host's name; set uses_path_style");
  }
  if (!in_path) address.host = place.bucket + '.' + address.host;
  address.origin = scheme + address.host;
  address.path = in_path ? root + place.bucket + '/' : root;
  return address;
}

std::string sts_url(std::string_view endpoint, std::string_view region) {
  if (!endpoint.empty()) return std::string(endpoint) + (endpoint.ends_with('/') ? "" : "/");
  return "https://sts." + std::string(region) + '.' + aws_domain_of_region(region) + '/';
}

}  // namespace ratoon::objects
