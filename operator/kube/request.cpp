#include "operator/kube/request.h"

#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

constexpr const char* kJsonType = "application/json";
constexpr const char* kMergePatchType = "application/merge-patch+json";

// Escapes all characters except RFC 3986's unreserved ones, for segments of a path and values in a query.
std::string percent_encode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return out;
}

// Checks a name by the API server's rules for names in paths, and escapes it.
Result<std::string> escape_path_segment(const char* what, const std::string& name) {
  constexpr std::size_t kBytesMax = 253;
  const bool is_good = !name.empty() && name.size() <= kBytesMax && name != "." && name != ".." &&
                       name.find_first_of("/%") == std::string::npos;
  if (is_good) return percent_encode(name);
  return Error(ErrorKind::kInvalid, "a " + std::string(what) +
                                        " must be 1 to 253 bytes without '/' and '%', found '" +
                                        cut_text(name, 60) + "'");
}

Result<std::string> path_of(const Resource& resource, const std::string& name_space) {
  std::string path(resource.group_path);
  if (resource.is_namespaced && !name_space.empty()) {
    const auto escaped = escape_path_segment("namespace", name_space);
    if (!escaped) return escaped.error();
    path += "/namespaces/" + *escaped;
  }
  return path + "/" + std::string(resource.plural);
}

Result<std::string> path_of(const ObjectReference& target) {
  if (target.resource.is_namespaced && target.name_space.empty())
    return Error(ErrorKind::kInvalid,
                 "an object of " + std::string(target.resource.plural) + " needs a namespace");
  auto path = path_of(target.resource, target.name_space);
  if (!path) return path;
  const auto name = escape_path_segment("name", target.name);
  if (!name) return name.error();
  return *path + "/" + *name;
}

ApiRequest make_write_request(const char* method, std::string_view verb, const ObjectReference& target,
                              std::string path, const json& body, const char* content_type = kJsonType) {
  return {.method = method,
          .target = std::move(path),
          .content_type = content_type,
          .body = dump(body),
          .verb = verb,
          .resource = target.resource.plural};
}

std::string selector_query(const Selection& selection) {
  std::string query;
  if (!selection.label_selector.empty())
    query += "&labelSelector=" + percent_encode(selection.label_selector);
  if (!selection.field_selector.empty())
    query += "&fieldSelector=" + percent_encode(selection.field_selector);
  return query;
}

}  // namespace

Result<ApiRequest> list(const Selection& selection, std::uint32_t items_max,
                        const std::string& continue_token) {
  auto path = path_of(selection.resource, selection.name_space);
  if (!path) return path.error();
  std::string query = "?limit=" + std::to_string(items_max) + selector_query(selection);
  if (!continue_token.empty()) query += "&continue=" + percent_encode(continue_token);
  return ApiRequest{.target = *path + query, .verb = "list", .resource = selection.resource.plural};
}

Result<ApiRequest> watch(const Selection& selection, const std::string& resource_version,
                         std::uint32_t timeout_seconds) {
  auto path = path_of(selection.resource, selection.name_space);
  if (!path) return path.error();
  return ApiRequest{
      .target = *path +
                "?watch=true&allowWatchBookmarks=true&resourceVersion=" + percent_encode(resource_version) +
                "&timeoutSeconds=" + std::to_string(timeout_seconds) + selector_query(selection),
      .verb = "watch",
      .resource = selection.resource.plural};
}

Result<ApiRequest> get(const ObjectReference& target) {
  auto path = path_of(target);
  if (!path) return path.error();
  return ApiRequest{.target = std::move(*path), .verb = "get", .resource = target.resource.plural};
}

Result<ApiRequest> make_log_request(const ObjectReference& pod, const LogSelection& selection) {
  auto path = path_of(pod);
  if (!path) return path.error();
  std::string query = "/log?timestamps=true&container=" + percent_encode(selection.container);
  if (selection.is_followed) query += "&follow=true";
  if (selection.lines_max) query += "&tailLines=" + std::to_string(*selection.lines_max);
  if (!selection.since.empty()) query += "&sinceTime=" + percent_encode(selection.since);
  return ApiRequest{.target = *path + query, .verb = "get", .resource = "pods/log"};
}

Result<ApiRequest> create(const ObjectReference& place, const json& object, UnknownFields unknown) {
  if (place.resource.is_namespaced && place.name_space.empty())
    return Error(ErrorKind::kInvalid,
                 "a new object of " + std::string(place.resource.plural) + " needs a namespace");
  auto path = path_of(place.resource, place.name_space);
  if (!path) return path.error();
  if (unknown == UnknownFields::kRefused) *path += "?fieldValidation=Strict";
  return make_write_request("POST", "create", place, std::move(*path), object);
}

Result<ApiRequest> remove(const ObjectReference& target, const std::string& uid,
                          std::optional<std::uint32_t> grace_seconds, const std::string& resource_version) {
  auto path = path_of(target);
  if (!path) return path.error();
  if (uid.empty())
    return Error(ErrorKind::kInvalid,
                 "deleting " + target.name + " needs its UID: a newer object may have that name");
  json preconditions = {{"uid", uid}};
  if (!resource_version.empty()) preconditions["resourceVersion"] = resource_version;
  json options = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", std::move(preconditions)}};
  if (grace_seconds) options["gracePeriodSeconds"] = *grace_seconds;
  return make_write_request("DELETE", "delete", target, std::move(*path), options);
}

Result<ApiRequest> make_patch_request(const ObjectReference& target, const json& patch) {
  auto path = path_of(target);
  if (!path) return path.error();
  return make_write_request("PATCH", "patch", target, std::move(*path), patch, kMergePatchType);
}

Result<ApiRequest> make_status_patch_request(const ObjectReference& target,
                                             const std::string& resource_version, const json& patch) {
  auto path = path_of(target);
  if (!path) return path.error();
  if (resource_version.empty())
    return Error(ErrorKind::kInvalid,
                 "a status of " + target.name +
                     " without a resourceVersion would overwrite the changes of other writers");
  const json body = {{"metadata", {{"resourceVersion", resource_version}}}, {"status", patch}};
  return make_write_request("PATCH", "patch", target, *path + "/status", body, kMergePatchType);
}

}  // namespace ratoon::kube
