// Messages of an API server: the lines of a watch, and the objects in them.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "base/contract/fields.h"
#include "operator/api/training_job.h"
#include "operator/kube/api_failure.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/metadata.h"
#include "operator/kube/objects/endpoint_slice.h"
#include "operator/kube/objects/lease.h"
#include "operator/kube/objects/token_review.h"
#include "operator/kube/patch.h"
#include "operator/kube/pods/member_pod.h"
#include "operator/kube/pods/node_codec.h"
#include "operator/kube/pods/pod_codec.h"
#include "operator/kube/watch_decoder.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

using namespace kube;  // NOLINT
using nlohmann::json;

constexpr std::size_t kBytesMax = 1024 * 1024;
constexpr int kDepthMax = 64;
constexpr std::size_t kMessageTextBytesMax = 2048;

void require_object_sentence(const Error& error) {
  require(!error.message().empty() && error.message().size() < kMessageTextBytesMax);
}

std::vector<WatchEvent> events_of(std::string_view bytes, std::size_t piece, std::size_t line_bytes_max) {
  std::vector<WatchEvent> events;
  WatchDecoder decoder(line_bytes_max);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    decoder.feed(bytes.substr(0, piece), [&](WatchEvent event) { events.push_back(std::move(event)); });
  return events;
}

bool is_same(const WatchEvent& a, const WatchEvent& b) {
  return a.kind == b.kind && a.object == b.object && a.complaint == b.complaint;
}

bool has_left_out_list(const json& value) {
  const bool is_here = !items_of(value, std::string(kManagedFieldsKey).c_str()).empty();
  return is_here || (value.is_structured() && std::any_of(value.begin(), value.end(), has_left_out_list));
}

void check_event(const WatchEvent& event) {
  if (event.kind == WatchEventKind::kBroken)
    return require(!event.complaint.empty() && event.complaint.size() < kMessageTextBytesMax);
  require(event.object.is_object() && event.complaint.empty() && !has_left_out_list(event.object));
  if (event.kind != WatchEventKind::kError) return;
  const ApiFailure failure = read_api_failure(event.object);
  require(failure.status >= 400 && failure.status < 600);
  require_object_sentence(failure.error);
}

void check_pod(const json& object) {
  const auto known = decode_pod(object);
  if (!known) return require(!known.error().message().empty());
  const api::Pod& pod = known->pod;
  require(!pod.name.empty() && !pod.uid.empty() && !pod.role.empty());
  require(!known->name_space.empty() && !known->job_name.empty() && !known->job_uid.empty());
  require(pod.last_lines.size() <= api::kLastLinesBytesMax && pod.unplaced_reason.size() <= 1024 &&
          pod.unstarted_reason.size() <= 1024);
  require(pod.last_lines.empty() || (pod.exit_code.value_or(0) != 0 && !pod.is_completed));
  require(std::ranges::none_of(pod.end_reasons, &std::string::empty));
}

void check_node(const json& object) {
  const api::NodeFactKeys keys{.labels = {"pool"}, .annotations = {"due"}, .conditions = {"Ready"}};
  const auto known = decode_node(object, keys);
  if (!known) return require_object_sentence(known.error());
  require(!known->name.empty() && known->taints.size() <= 256 &&
          !(known->is_ready && known->is_shutting_down));
  require(known->labels.size() <= 1 && known->annotations.size() <= 1 && known->conditions.size() <= 1);
  require(known->is_shutting_down || !known->shutting_down_since);
}

// The numbers of a Lease are of 32 bits with a sign, and the server refuses any other.
void check_lease(const json& object) {
  constexpr std::uint32_t kNumberMax = std::numeric_limits<std::int32_t>::max();
  const Lease read = read_lease(object);
  json taken = object.is_object() ? object : json::object();
  taken.merge_patch(make_lease_acquire_patch(read, "me", std::chrono::seconds(6), WallTime{}));
  const Lease mine = read_lease(taken);
  require(mine.holder == "me" && mine.duration_seconds == 6);
  require(mine.transitions == std::min(read.transitions, kNumberMax - 1) + 1);
  taken.merge_patch(make_lease_renew_patch(mine, WallTime{}));
  require(read_lease(taken) == mine);
  taken.merge_patch(make_lease_release_patch(mine, WallTime{}));
  require(read_lease(taken).holder.empty());
}

void check_slice(json object) {
  const json patch = make_slice_patch(object, "s", "10.0.0.7", 9443);
  object.merge_patch(patch);
  require(make_slice_patch(object, "s", "10.0.0.7", 9443) == json::object());
}

// A pod that is made of the job names its owner.
void check_pods_of(const api::TrainingJob& job) {
  const PodSettings settings{.coordinator_url = "https://10.96.0.7:9443", .coordinator_ca = "ca"};
  for (const auto& role : job.spec.roles) {
    api::Pod member{.name = "pod", .role = role.name, .index = 3, .incarnation = 5};
    if (api::is_agentless(job.spec))
      member.group_rank_assignment = api::GroupRankAssignment{.first_rank = 3, .world_size = 4};
    auto made = make_member_pod(
        job, member, {.avoided = {{.name = "node-1", .pods = {{.role = role.name}}}}, .faulty = {"node-2"}},
        settings);
    if (!made) {
      require_object_sentence(made.error());
      continue;
    }
    (*made)["metadata"]["uid"] = "u";
    const auto known = decode_pod(json::parse(kube::dump(*made)));
    require(known.has_value() && known->job_name == job.meta.name && known->job_uid == job.meta.uid);
    require(known->pod.role == role.name && known->pod.index == 3 && known->pod.incarnation == 5);
    require(known->pod.avoided_nodes == std::vector<std::string>{"node-1"});
  }
}

}  // namespace

void watch(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  const std::size_t line_bytes_max = choice % 2 == 0 ? WatchDecoder::kLineBytesMax : 64;
  const auto whole = events_of(bytes, std::max<std::size_t>(bytes.size(), 1), line_bytes_max);
  const auto cut = events_of(bytes, 1 + choice / 2, line_bytes_max);
  require(std::ranges::equal(whole, cut, is_same));
  for (const auto& event : whole) check_event(event);
}

void kube_objects(std::string_view bytes) {
  require_object_sentence(read_api_failure(503, bytes, bytes).error);
  const auto object = parse_json(bytes, kBytesMax, kDepthMax);
  if (!object) return require_object_sentence(object.error());
  check_pod(*object);
  check_node(*object);
  check_lease(*object);
  check_slice(*object);
  require(resource_version_in(*object) == 0 || child(*object, "metadata").is_object());
  const auto identity = read_token_review(*object);
  require(identity ? !identity->pod_uid.empty() && !identity->pod_name.empty()
                   : identity.error().kind() == ErrorKind::kPermissionDenied);
}

void training_job(std::string_view bytes) {
  const auto document = parse_json(bytes, kBytesMax, kDepthMax);
  if (!document) return;
  const auto job = api::decode_training_job(*document);
  if (!job) return require_object_sentence(job.error());
  const json written = api::encode_training_job(*job);
  const auto again = api::decode_training_job(written);
  require(again.has_value() && api::encode_training_job(*again) == written);
  json patched = *document;  // as the server has it after the write
  if (!patched.contains("status")) patched["status"] = json::object();
  patched["status"].merge_patch(patch_between(child(*document, "status"), written["status"]));
  require(bytes.find("null") != std::string_view::npos || patched == written);  // a patch cannot write a null
  check_pods_of(*job);
}

}  // namespace ratoon::fuzz
