// Calls to the API server as values. Every name is checked and escaped here, so that a name that an object
// carries cannot reach another object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon::kube {

struct Request {
  std::string method = "GET";
  std::string target;  // path and query, escaped
  std::string content_type{};
  std::string body{};
  // What it is, for who counts calls: as the server's own metrics name it.
  std::string_view verb = "get";
  std::string_view resource{};
};

// A kind of objects as the server's paths name it.
struct Resource {
  std::string_view group_path;  // "/api/v1", "/apis/ratoon.dev/v1alpha1"
  std::string_view plural;
  bool is_namespaced = true;
};

inline constexpr Resource kTrainingJobs{"/apis/ratoon.dev/v1alpha1", "trainingjobs"};
inline constexpr Resource kPods{"/api/v1", "pods"};
inline constexpr Resource kNodes{"/api/v1", "nodes", false};
inline constexpr Resource kClaims{"/api/v1", "persistentvolumeclaims"};
inline constexpr Resource kEvents{"/apis/events.k8s.io/v1", "events"};
inline constexpr Resource kCoreEvents{"/api/v1", "events"};  // the same objects
inline constexpr Resource kLeases{"/apis/coordination.k8s.io/v1", "leases"};
inline constexpr Resource kEndpointSlices{"/apis/discovery.k8s.io/v1", "endpointslices"};
inline constexpr Resource kTokenReviews{"/apis/authentication.k8s.io/v1", "tokenreviews", false};

// What a list or a watch covers. An empty namespace is all of them.
struct Selection {
  Resource resource;
  std::string name_space{};
  std::string label_selector{};
  std::string field_selector{};
};

// One object, or with an empty name the place where such objects are made.
struct Target {
  Resource resource;
  std::string name_space{};
  std::string name{};
};

// A consistent read: no resourceVersion is given, so a server that lags behind cannot answer from its cache.
[[nodiscard]] Result<Request> list(const Selection& selection, std::uint32_t items_max,
                                   const std::string& continue_token);
// Events after `resource_version`; the server ends it after so many seconds.
[[nodiscard]] Result<Request> watch(const Selection& selection, const std::string& resource_version,
                                    std::uint32_t timeout_seconds);

[[nodiscard]] Result<Request> get(const Target& target);
// A field that the server does not know is left out and nobody told, or refused by name.
enum class Unknown { kLeftOut, kRefused };
[[nodiscard]] Result<Request> create(const Target& place, const nlohmann::json& object,
                                     Unknown unknown = Unknown::kLeftOut);
// Only if the object of this name still has this UID and, where a version is given, nobody has written it
// since.
// Without a grace it is the object's own.
[[nodiscard]] Result<Request> remove(const Target& target, const std::string& uid,
                                     std::optional<std::uint32_t> grace_seconds,
                                     const std::string& resource_version = "");
[[nodiscard]] Result<Request> merge_patch(const Target& target, const nlohmann::json& patch);
// A stale writer is refused: `patch` is of the status, the version is what the writer read.
[[nodiscard]] Result<Request> patch_status(const Target& target, const std::string& resource_version,
                                           const nlohmann::json& patch);

}  // namespace ratoon::kube
