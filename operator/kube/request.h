// Builds calls to the API server as plain values. Checks and escapes every name, so that no name in an object
// can lead to another path on the server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon::kube {

struct ApiRequest {
  std::string method = "GET";
  std::string target;  // path and query, escaped
  std::string content_type{};
  std::string body{};
  // Metric labels of the call, with the same values as in the API server's metrics.
  std::string_view verb = "get";
  std::string_view resource{};
};

// A kind of Kubernetes objects, as named in the API server's paths.
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
inline constexpr Resource kSecrets{"/api/v1", "secrets"};
inline constexpr Resource kTokenReviews{"/apis/authentication.k8s.io/v1", "tokenreviews", false};

// Selects the objects of a list or a watch. An empty namespace means all namespaces.
struct Selection {
  Resource resource;
  std::string name_space{};
  std::string label_selector{};
  std::string field_selector{};
};

// Refers to one object or, if the name is empty, to the collection in which a new object is created.
struct ObjectReference {
  Resource resource;
  std::string name_space{};
  std::string name{};
};

// Lists objects by a consistent read: the request has no resourceVersion, so that the API server does not
// answer from an old cache.
[[nodiscard]] Result<ApiRequest> list(const Selection& selection, std::uint32_t items_max,
                                      const std::string& continue_token);
// Watches changes after `resource_version`; the server ends the watch after `timeout_seconds`.
[[nodiscard]] Result<ApiRequest> watch(const Selection& selection, const std::string& resource_version,
                                       std::uint32_t timeout_seconds);

[[nodiscard]] Result<ApiRequest> get(const ObjectReference& target);

struct LogSelection {
  std::string container{};
  bool is_followed = false;                  // until the container ends
  std::optional<std::uint32_t> lines_max{};  // from the end
  std::string since{};                       // RFC 3339; empty: from the first line
};
// Reads a log. Each line of the reply begins with its timestamp and a space.
[[nodiscard]] Result<ApiRequest> make_log_request(const ObjectReference& pod, const LogSelection& selection);

// Whether the server drops unknown fields silently, or refuses a write that has an unknown field.
enum class UnknownFields { kLeftOut, kRefused };
[[nodiscard]] Result<ApiRequest> create(const ObjectReference& place, const nlohmann::json& object,
                                        UnknownFields unknown = UnknownFields::kLeftOut);
// Deletes the object only if it still has this UID and, if `resource_version` is given, was not written after
// that version. Without `grace_seconds`, the grace period of the object itself applies.
[[nodiscard]] Result<ApiRequest> remove(const ObjectReference& target, const std::string& uid,
                                        std::optional<std::uint32_t> grace_seconds,
                                        const std::string& resource_version = "");
[[nodiscard]] Result<ApiRequest> make_patch_request(const ObjectReference& target,
                                                    const nlohmann::json& patch);
// Patches an object's status. The server refuses the write if the object was written after
// `resource_version`.
[[nodiscard]] Result<ApiRequest> make_status_patch_request(const ObjectReference& target,
                                                           const std::string& resource_version,
                                                           const nlohmann::json& patch);

}  // namespace ratoon::kube
