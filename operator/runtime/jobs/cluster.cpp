#include "operator/runtime/jobs/cluster.h"

#include <array>
#include <atomic>
#include <stop_token>

#include <ratoon/counter_random.h>

#include "base/contract/names.h"
#include "base/core/threads/mutex.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/patch.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/api_server/reflector.h"
#include "operator/runtime/jobs/broken_job.h"
#include "operator/runtime/jobs/event_writer.h"
#include "operator/runtime/jobs/job_cache_sinks.h"
#include "operator/runtime/jobs/pruned_fields.h"
#include "operator/runtime/scheduling/requested_pauses.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

constexpr std::uint32_t kGraceSeconds = 1;
constexpr Duration kHangingAfterGrace = std::chrono::seconds(10);
constexpr Duration kStalenessMax = std::chrono::seconds(15);
constexpr Duration kCallTimeout = std::chrono::seconds(30);

kube::ObjectReference pod_reference(const api::TrainingJob& job, const std::string& name) {
  return {.resource = kube::kPods, .name_space = job.meta.name_space, .name = name};
}

// Returns whether the pod still exists long after its grace period, which means that kubelet has failed.
bool is_hanging(const json& pod, WallTime now) {
  const auto grace_end = parse_rfc3339(kube::string_field(kube::child(pod, "metadata"), "deletionTimestamp"));
  return grace_end && grace_end->since_epoch + kHangingAfterGrace < now.since_epoch;
}

json stored_status(const api::TrainingJob& job) {
  return job.document ? kube::child(*job.document, "status") : json();
}

// Returns a source of random numbers in [0, 1), different for each seed and reflector.
std::function<double()> make_draw(std::uint64_t seed, std::uint64_t stream) {
  return [state = mix_into(splitmix64(seed), stream)]() mutable {
    state = splitmix64(state);
    return static_cast<double>(state >> 11U) * 0x1.0p-53;
  };
}

std::string member_label_selector() {
  return std::string(names::label::kJobUid);  // the label exists, with any value
}

}  // namespace

// The order of the members of Parts matters: C++ destroys them in reverse order, so that no object uses an
// object that is already destroyed.
struct Cluster::Parts {
  Parts(kube::ApiServerAccess access, const Clock& own_clock, ClusterOptions options)
      : clock(own_clock),
        log(options.log.value_or(Logger(own_clock, {}, {{"component", "cluster"}}))),
        settings(std::move(options.settings)),
        client(std::move(access), own_clock, std::move(options.on_call), options.fence,
               std::move(options.transport)),
        cache(std::move(options.on_change), std::move(options.node_facts)),
        events(client, own_clock, std::move(options.reporter), log),
        reflect_nodes(client, nodes, own_clock,
                      {.selection = {.resource = kube::kNodes}, .draw = make_draw(options.seed, 1)}, log),
        reflect_pods(client, pods, own_clock,
                     {.selection = {kube::kPods, options.name_space, member_label_selector()},
                      .draw = make_draw(options.seed, 2)},
                     log),
        reflect_jobs(client, jobs, own_clock,
                     {.selection = {.resource = kube::kTrainingJobs, .name_space = options.name_space},
                      .draw = make_draw(options.seed, 3)},
                     log) {}

  [[nodiscard]] std::array<const Reflector*, 3> reflectors() const {
    return {&reflect_nodes, &reflect_pods, &reflect_jobs};
  }
  [[nodiscard]] std::array<Reflector*, 3> reflectors() {
    return {&reflect_nodes, &reflect_pods, &reflect_jobs};
  }

  // Makes a call for the job, unless the API server has asked for a pause that is not over.
  [[nodiscard]] Result<json> call(const JobKey& job, const Result<kube::ApiRequest>& request) {
    if (!request) return request.error();
    const Timestamp now = clock.now();
    if (const auto end = pauses.end_of(job, now)) {
      return Error(ErrorKind::kUnavailable, "the API server is overloaded and asked for a pause: the " +
                                                std::string(request->verb) + " of " +
                                                std::string(request->resource) + " is made in " +
                                                std::to_string(seconds(*end - now)) + " s");
    }
    std::optional<kube::ApiFailure> refusal;
    auto reply = client.call(*request, stopping.get_token(), kCallTimeout, refusal);
    const auto asked = refusal ? refusal->requested_retry_delay() : std::nullopt;
    if (asked) pauses.note(job, *asked, clock.now());
    return reply;
  }

  [[nodiscard]] PodSettings pod_settings() {
    const MutexLock lock(mutex);
    return settings;
  }

  const Clock& clock;
  const Logger log;
  Mutex mutex;
  PodSettings settings RATOON_GUARDED_BY(mutex);
  std::stop_source stopping;  // of calls
  ApiClient client;
  RequestedPauses pauses;
  PrunedFields pruned{clock, log};
  JobCache cache;
  JobSink jobs{cache};
  PodSink pods{cache};
  NodeSink nodes{cache};
  EventWriter events;
  Reflector reflect_nodes;
  Reflector reflect_pods;
  Reflector reflect_jobs;
  std::array<Timestamp, 3> steps_at{};  // next step of reflectors without threads
};

Cluster::Cluster(PrivateTag, std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Cluster::~Cluster() {
  end_calls();
}

void Cluster::end_calls() {
  parts_->stopping.request_stop();
}

Result<std::unique_ptr<Cluster>> Cluster::connect(kube::ApiServerAccess access, const Clock& clock,
                                                  ClusterOptions options) {
  auto cluster = connect_without_threads(std::move(access), clock, std::move(options));
  if (!cluster) return cluster;
  for (Reflector* reflector : (*cluster)->parts_->reflectors()) reflector->start();
  (*cluster)->parts_->events.start();
  return cluster;
}

Result<std::unique_ptr<Cluster>> Cluster::connect_without_threads(kube::ApiServerAccess access,
                                                                  const Clock& clock,
                                                                  ClusterOptions options) {
  if (access.server.empty())
    return Error(ErrorKind::kInvalid, "no API server is named: give a kubeconfig or run in a pod");
  if (options.settings.coordinator_url.empty())
    return Error(ErrorKind::kInvalid, "members need the coordinator's URL, but no URL is given");
  auto parts = std::make_unique<Parts>(std::move(access), clock, std::move(options));
  return std::make_unique<Cluster>(PrivateTag{}, std::move(parts));
}

void Cluster::step(const std::stop_token& stop) {
  const auto reflectors = parts_->reflectors();
  for (std::size_t i = 0; i < reflectors.size(); ++i) {
    if (parts_->steps_at[i] > parts_->clock.now()) continue;
    const Duration pause = reflectors[i]->step(stop);
    parts_->steps_at[i] = parts_->clock.now() + pause;
  }
  parts_->events.step(stop);
}

std::optional<JobView> Cluster::view(const JobKey& key) const {
  return parts_->cache.view(key);
}

std::vector<JobKey> Cluster::jobs() const {
  return parts_->cache.jobs();
}

std::vector<UnreadableJob> Cluster::unreadable_jobs() const {
  return parts_->cache.unreadable_jobs();
}

ProcessesInUse Cluster::processes_in_use(const std::string& name_space) const {
  return parts_->cache.processes_in_use(name_space);
}

bool Cluster::is_synced() const {
  for (const Reflector* reflector : parts_->reflectors())
    if (!reflector->is_synced()) return false;
  return true;
}

void Cluster::relist() {
  for (Reflector* reflector : parts_->reflectors()) reflector->relist();
}

bool Cluster::is_fresh() const {
  for (const Reflector* reflector : parts_->reflectors()) {
    const auto since = reflector->behind_since();
    if (since && parts_->clock.now() - *since > kStalenessMax) return false;
  }
  return is_synced();
}

std::map<std::string_view, double> Cluster::seconds_behind() const {
  std::map<std::string_view, double> behind;
  for (const Reflector* reflector : parts_->reflectors()) {
    const auto since = reflector->behind_since();
    behind[reflector->resource()] = since ? seconds(parts_->clock.now() - *since) : 0;
  }
  return behind;
}

std::optional<Timestamp> Cluster::retry_after_end(const JobKey& job) const {
  return parts_->pauses.end_of(job, parts_->clock.now());
}

api::TrainingJobStatus Cluster::status_as_stored(const api::TrainingJob& job) const {
  if (!parts_->pruned.has_any()) return job.status;
  json document = api::encode_training_job(job);
  parts_->pruned.remove_pruned_from(document["status"], stored_status(job));
  const auto kept = api::decode_training_job(document);
  return kept ? kept->status : job.status;
}

Result<void> Cluster::write_status(const api::TrainingJob& job) {
  const json before = stored_status(job);
  json wanted = kube::child(api::encode_training_job(job), "status");
  parts_->pruned.remove_pruned_from(wanted, before);
  const json patch = kube::patch_between(before, wanted);
  if (patch.empty()) return {};
  const kube::ObjectReference target{
      .resource = kube::kTrainingJobs, .name_space = job.meta.name_space, .name = job.meta.name};
  const auto reply =
      parts_->call(key_of(job), kube::make_status_patch_request(target, job.meta.resource_version, patch));
  if (!reply) return reply.error().with_context("writing the status of " + job.meta.name);
  parts_->pruned.record_pruned(wanted, kube::child(*reply, "status"));
  parts_->cache.put_written_job(*reply);
  return {};
}

Result<std::optional<core::VolumeClaim>> Cluster::read_volume_claim(const api::TrainingJob& job) {
  const std::string& name = job.spec.checkpoint_policy.volume_claim_name;
  const kube::ObjectReference target{
      .resource = kube::kClaims, .name_space = job.meta.name_space, .name = name};
  const auto found = parts_->call(key_of(job), kube::get(target));
  if (!found && found.error().kind() == ErrorKind::kNotFound) return std::optional<core::VolumeClaim>();
  if (!found) return found.error().with_context("reading the claim " + name);
  core::VolumeClaim claim;
  const json& modes = kube::child(kube::child(*found, "spec"), "accessModes");
  if (modes.is_array())
    for (const auto& mode : modes)
      if (mode.is_string()) claim.access_modes.push_back(mode.get<std::string>());
  return std::optional(std::move(claim));
}

Result<void> Cluster::write_invalid_condition(const UnreadableJob& job) {
  const auto conditions =
      with_invalid_condition(job.conditions, job.complaint, job.meta.generation, parts_->clock.wall_now());
  if (!conditions) return {};
  const kube::ObjectReference target{
      .resource = kube::kTrainingJobs, .name_space = job.meta.name_space, .name = job.meta.name};
  const auto reply = parts_->call(
      {.name_space = job.meta.name_space, .name = job.meta.name},
      kube::make_status_patch_request(target, job.meta.resource_version, {{"conditions", *conditions}}));
  if (!reply)
    return reply.error().with_context("writing to the status why " + job.meta.name + " is not served");
  parts_->cache.put_written_job(*reply);
  return {};
}

Result<CreateOutcome> Cluster::create_pod(const api::TrainingJob& job, const core::CreatePod& action) {
  const auto pod =
      kube::make_member_pod(job, action.pod, {.avoided = action.avoid_nodes, .faulty = action.faulty_nodes},
                            parts_->pod_settings());
  if (!pod) return pod.error();
  // The operator passes on the user's template unchanged. For instance, a misspelled field could make a job
  // train without a GPU.
  const auto unknown =
      action.is_template_checked ? kube::UnknownFields::kRefused : kube::UnknownFields::kLeftOut;
  const auto made = parts_->call(key_of(job), kube::create(pod_reference(job, ""), *pod, unknown));
  if (!made && made.error().kind() == ErrorKind::kAlreadyExists) return adopt_pod(job, action.pod.name);
  if (!made) return made.error().with_context("creating pod " + action.pod.name);
  parts_->cache.put_written_pod(*made);
  return CreateOutcome::kMade;
}

Result<CreateOutcome> Cluster::adopt_pod(const api::TrainingJob& job, const std::string& name) {
  const auto found = parts_->call(key_of(job), kube::get(pod_reference(job, name)));
  if (!found) return found.error().with_context("reading pod " + name + ", which exists");
  if (kube::owning_job_uid(*found) != job.meta.uid) {
    // If another job owns the pod, the pod may stay until that job ends.
    const std::string owner = kube::owning_job_name(*found);
    if (owner == job.meta.name) {
      if (const auto deleted = delete_pod_of_former_job(job, *found); !deleted) return deleted.error();
      return CreateOutcome::kNameIsHeld;
    }
    if (!owner.empty() || is_hanging(*found, parts_->clock.wall_now())) return CreateOutcome::kNameIsHeld;
    return Error(ErrorKind::kAlreadyExists,
                 "a pod " + name + " exists that does not belong to this job: delete the pod");
  }
  parts_->cache.put_written_pod(*found);
  return CreateOutcome::kMade;
}

// A pod of a deleted job may stay: Kubernetes deletes the pod with a delay, or never if the user deleted the
// job with --cascade=orphan. The pod's job and `job` have the same name. At most one of them exists, and only
// the API server knows which, because this operator's copy may be old.
Result<void> Cluster::delete_pod_of_former_job(const api::TrainingJob& job, const json& pod) {
  const json& meta = kube::child(pod, "metadata");
  if (!kube::string_field(meta, "deletionTimestamp").empty()) return {};
  const std::string name = kube::string_field(meta, "name");
  const kube::ObjectReference reference{
      .resource = kube::kTrainingJobs, .name_space = job.meta.name_space, .name = job.meta.name};
  const auto now = parts_->call(key_of(job), kube::get(reference));
  if (!now) return now.error().with_context("reading job " + job.meta.name + ", which may own pod " + name);
  if (kube::string_field(kube::child(*now, "metadata"), "uid") != job.meta.uid)
    return Error(ErrorKind::kUnavailable,
                 "job " + job.meta.name + " was deleted and created again after this operator read it");
  const auto reply = parts_->call(
      key_of(job), kube::remove(pod_reference(job, name), kube::string_field(meta, "uid"), std::nullopt, ""));
  if (reply || reply.error().kind() == ErrorKind::kNotFound) return {};
  return reply.error().with_context("deleting pod " + name + " of a deleted job with this job's name");
}

Result<void> Cluster::delete_pod(const JobView& seen, const core::DeletePod& action) {
  const auto grace = action.has_grace ? std::nullopt : std::optional(kGraceSeconds);
  const auto known = seen.pod_versions.find(action.uid);
  const std::string version = known == seen.pod_versions.end() ? "" : known->second;
  const auto reply = parts_->call(
      key_of(seen.job), kube::remove(pod_reference(seen.job, action.name), action.uid, grace, version));
  if (reply) {
    parts_->cache.put_written_pod(*reply);  // a Pod that is being deleted, or a Status, which is not a pod
    return {};
  }
  const ErrorKind kind = reply.error().kind();
  if (kind == ErrorKind::kNotFound) return {};
  if (kind == ErrorKind::kConflict) return reread_pod(seen.job, action);
  return reply.error().with_context("deleting pod " + action.name);
}

// Reads the pod's current state from the server itself. While the watch is delayed, the next decisions would
// otherwise still see the old pod, and the server would refuse each deletion.
Result<void> Cluster::reread_pod(const api::TrainingJob& job, const core::DeletePod& action) {
  const auto found = parts_->call(key_of(job), kube::get(pod_reference(job, action.name)));
  if (!found && found.error().kind() == ErrorKind::kNotFound) return {};
  if (!found) return found.error().with_context("reading pod " + action.name + ", which has changed");
  if (kube::string_field(kube::child(*found, "metadata"), "uid") != action.uid) return {};
  parts_->cache.put_written_pod(*found);
  return Error(ErrorKind::kConflict, "pod " + action.name + " has changed since its deletion was decided");
}

Result<void> Cluster::delete_job(const api::TrainingJob& job, const core::DeleteJob& action) {
  const kube::ObjectReference target{
      .resource = kube::kTrainingJobs, .name_space = job.meta.name_space, .name = job.meta.name};
  // Send the job's version, so that the server refuses the deletion if the job has a change that this
  // operator has not seen. For example, the user may just have extended its time to live.
  const auto request = kube::remove(target, action.uid, kGraceSeconds, job.meta.resource_version);
  const auto reply = parts_->call(key_of(job), request);
  if (reply) return {};
  if (reply.error().kind() == ErrorKind::kNotFound) return {};
  return reply.error().with_context("deleting job " + job.meta.name + ", whose time to live is over");
}

void Cluster::emit_event(const api::TrainingJob& job, const core::EmitEvent& action) {
  parts_->events.emit(job.meta,
                      {.is_warning = action.is_warning, .reason = action.reason, .message = action.message});
}

void Cluster::trust_coordinator_ca(std::string coordinator_ca) {
  const MutexLock lock(parts_->mutex);
  parts_->settings.coordinator_ca = std::move(coordinator_ca);
}

}  // namespace ratoon::runtime
