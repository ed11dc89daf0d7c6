#include "operator/runtime/jobs/job_cache.h"

#include <algorithm>

#include "operator/kube/lenient_json.h"
#include "operator/kube/metadata.h"
#include "operator/kube/pods/node_codec.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

std::uint64_t version_of(const kube::MemberPod& pod) {
  return kube::parse_version(pod.resource_version);
}

bool differ_in_heartbeat_alone(api::Node a, const api::Node& b) {
  a.last_heartbeat = b.last_heartbeat;
  return a == b;
}

bool is_ending(const api::Pod& pod) {
  return pod.is_deleting || pod.has_ended();
}

JobKey owner_of(const kube::MemberPod& pod) {
  return {.name_space = pod.name_space, .name = pod.job_name};
}

template <class Map, class Key>
void erase_from(Map& index, const typename Map::key_type& name, const Key& key) {
  const auto it = index.find(name);
  if (it == index.end()) return;
  it->second.erase(key);
  if (it->second.empty()) index.erase(it);
}

}  // namespace

std::set<std::string> uids_of_pods(const JobView& view) {
  std::set<std::string> uids;
  for (const auto& pod : view.pods) uids.insert(pod.uid);
  return uids;
}

JobCache::JobEntry JobCache::make_entry(const json& object) {
  JobEntry entry;
  entry.version = kube::resource_version_in(object);
  const json& meta = kube::child(object, "metadata");
  entry.is_deleting = !kube::string_field(meta, "deletionTimestamp").empty();
  auto decoded = api::decode_training_job(object);
  if (decoded) {
    entry.job = std::move(*decoded);
    return entry;
  }
  entry.complaint = decoded.error().message();
  entry.job.meta = {.name_space = kube::string_field(meta, "namespace"),
                    .name = kube::string_field(meta, "name"),
                    .uid = kube::string_field(meta, "uid"),
                    .resource_version = kube::string_field(meta, "resourceVersion")};
  const json& generation = kube::child(meta, "generation");
  if (generation.is_number_unsigned()) entry.job.meta.generation = generation.get<std::uint64_t>();
  entry.conditions = kube::child(kube::child(object, "status"), "conditions");
  return entry;
}

bool JobCache::put_job_entry(const JobKey& key, JobEntry entry) {
  if (key.name.empty()) return false;
  const auto it = jobs_.find(key);
  if (it != jobs_.end() && entry.version <= it->second.version) return false;
  jobs_[key] = std::move(entry);
  return true;
}

void JobCache::put_job(const json& object) {
  const JobKey key = kube::job_key_in(object);
  JobEntry entry = make_entry(object);
  bool is_news = false;
  {
    const MutexLock lock(mutex_);
    is_news = put_job_entry(key, std::move(entry));
  }
  if (is_news) notify_change({key}, Urgency::kRoutine);
}

void JobCache::put_written_job(const json& object) {
  const JobKey key = kube::job_key_in(object);
  JobEntry entry = make_entry(object);
  const MutexLock lock(mutex_);
  // If the cache lacks the job although the watch is past this version, the job was deleted meanwhile.
  if (!jobs_.contains(key) && entry.version <= jobs_version_) return;
  put_job_entry(key, std::move(entry));
}

void JobCache::remove_job(const json& object) {
  const JobKey key = kube::job_key_in(object);
  const std::uint64_t version = kube::resource_version_in(object);
  {
    const MutexLock lock(mutex_);
    jobs_version_ = std::max(jobs_version_, version);
    const auto it = jobs_.find(key);
    if (it == jobs_.end() || it->second.version > version) return;
    jobs_.erase(it);
  }
  notify_change({key}, Urgency::kRoutine);
}

void JobCache::replace_jobs(const std::set<JobKey>& listed, std::uint64_t version) {
  std::set<JobKey> touched;
  {
    const MutexLock lock(mutex_);
    jobs_version_ = std::max(jobs_version_, version);
    for (auto it = jobs_.begin(); it != jobs_.end();) {
      const bool is_gone = !listed.contains(it->first) && it->second.version <= version;
      if (is_gone) touched.insert(it->first);
      it = is_gone ? jobs_.erase(it) : std::next(it);
    }
  }
  notify_change(touched, Urgency::kRoutine);
}

void JobCache::advance_jobs_version(std::uint64_t version) {
  const MutexLock lock(mutex_);
  jobs_version_ = std::max(jobs_version_, version);
}

void JobCache::erase_pod(const PodKey& key) {
  const auto it = pods_.find(key);
  if (it == pods_.end()) return;
  erase_from(pods_of_job_, {key.name_space, it->second.job_uid}, key);
  erase_from(pods_on_node_, it->second.pod.node, key);
  for (const auto& node : it->second.pod.avoided_nodes) erase_from(pods_avoiding_node_, node, key);
  pods_.erase(it);
}

void JobCache::erase_pod_and_node(const PodKey& key) {
  const auto it = pods_.find(key);
  if (it == pods_.end()) return;
  const std::string node = it->second.pod.node;
  erase_pod(key);
  if (!pods_on_node_.contains(node)) deleted_nodes_.erase(node);
}

bool JobCache::put_pod_entry(kube::MemberPod pod) {
  const PodKey key{.name_space = pod.name_space, .name = pod.pod.name};
  const auto it = pods_.find(key);
  if (it != pods_.end() && version_of(pod) <= version_of(it->second)) return false;
  const bool is_news = it == pods_.end() || it->second.pod != pod.pod || it->second.job_uid != pod.job_uid;
  erase_pod(key);
  pods_of_job_[{key.name_space, pod.job_uid}].insert(key);
  if (!pod.pod.node.empty()) pods_on_node_[pod.pod.node].insert(key);
  for (const auto& node : pod.pod.avoided_nodes) pods_avoiding_node_[node].insert(key);
  pods_.emplace(key, std::move(pod));
  return is_news;
}

void JobCache::put_pod(const json& object) {
  auto pod = kube::decode_pod(object);
  if (!pod) {  // its labels were removed: it is no longer a member
    erase_nonmember_pod(object);
    return;
  }
  const JobKey owner = owner_of(*pod);
  const Urgency urgency = is_ending(pod->pod) ? Urgency::kDisruption : Urgency::kRoutine;
  bool is_news = false;
  {
    const MutexLock lock(mutex_);
    is_news = put_pod_entry(std::move(*pod));
  }
  if (is_news) notify_change({owner}, urgency);
}

void JobCache::put_written_pod(const json& object) {
  auto pod = kube::decode_pod(object);
  if (!pod) return;
  const MutexLock lock(mutex_);
  const PodKey key{.name_space = pod->name_space, .name = pod->pod.name};
  if (!pods_.contains(key) && version_of(*pod) <= pods_version_) return;  // created and deleted meanwhile
  put_pod_entry(std::move(*pod));
}

void JobCache::remove_pod(const json& object) {
  advance_pods_version(kube::resource_version_in(object));
  erase_nonmember_pod(object);
}

void JobCache::erase_nonmember_pod(const json& object) {
  const PodKey key = kube::job_key_in(object);
  const std::uint64_t version = kube::resource_version_in(object);
  JobKey owner;
  {
    const MutexLock lock(mutex_);
    const auto it = pods_.find(key);
    if (it == pods_.end() || version_of(it->second) > version) return;
    owner = owner_of(it->second);
    erase_pod_and_node(key);
  }
  notify_change({owner}, Urgency::kDisruption);
}

void JobCache::replace_pods(const std::set<PodKey>& listed, std::uint64_t version) {
  std::set<JobKey> touched;
  {
    const MutexLock lock(mutex_);
    pods_version_ = std::max(pods_version_, version);
    std::vector<PodKey> gone;
    for (const auto& [key, pod] : pods_)
      if (!listed.contains(key) && version_of(pod) <= version) gone.push_back(key);
    for (const auto& key : gone) {
      touched.insert(owner_of(pods_.at(key)));
      erase_pod_and_node(key);
    }
  }
  notify_change(touched, Urgency::kDisruption);
}

void JobCache::advance_pods_version(std::uint64_t version) {
  const MutexLock lock(mutex_);
  pods_version_ = std::max(pods_version_, version);
}

std::set<JobKey> JobCache::jobs_using_node(const std::string& node) const {
  std::set<JobKey> found;
  for (const auto* index : {&pods_on_node_, &pods_avoiding_node_})
    if (const auto it = index->find(node); it != index->end())
      for (const auto& key : it->second) found.insert(owner_of(pods_.at(key)));
  return found;
}

std::set<JobKey> JobCache::jobs_avoiding_node(const std::string& node) const {
  std::set<JobKey> found;
  for (const auto& [key, entry] : jobs_) {
    const auto& suspects = entry.job.status.suspect_nodes;
    if (std::any_of(suspects.begin(), suspects.end(),
                    [&](const auto& suspect) { return suspect.name == node; }))
      found.insert(key);
  }
  return found;
}

void JobCache::put_node(const json& object) {
  auto node = kube::decode_node(object, node_facts_);
  if (!node) return;
  std::set<JobKey> touched;
  {
    const MutexLock lock(mutex_);
    const auto it = nodes_.find(node->name);
    // If only the node's heartbeat changed, notify only the jobs that avoid the node: it may be alive again.
    const bool is_news = it == nodes_.end() || !differ_in_heartbeat_alone(it->second, *node);
    if (is_news) touched = jobs_using_node(node->name);
    if (is_news || it->second != *node) touched.merge(jobs_avoiding_node(node->name));
    deleted_nodes_.erase(node->name);
    nodes_[node->name] = std::move(*node);
  }
  notify_change(touched, Urgency::kDisruption);
}

void JobCache::erase_node(const std::string& name, std::set<JobKey>& touched) {
  if (pods_on_node_.contains(name)) deleted_nodes_.insert(name);
  touched.merge(jobs_using_node(name));
}

void JobCache::remove_node(const json& object) {
  const std::string name = kube::job_key_in(object).name;
  std::set<JobKey> touched;
  {
    const MutexLock lock(mutex_);
    if (nodes_.erase(name) > 0) erase_node(name, touched);
  }
  notify_change(touched, Urgency::kDisruption);
}

void JobCache::replace_nodes(const std::set<std::string>& listed) {
  std::set<JobKey> touched;
  {
    const MutexLock lock(mutex_);
    for (auto it = nodes_.begin(); it != nodes_.end();) {
      const bool is_gone = !listed.contains(it->first);
      if (is_gone) erase_node(it->first, touched);
      it = is_gone ? nodes_.erase(it) : std::next(it);
    }
  }
  notify_change(touched, Urgency::kDisruption);
}

void JobCache::notify_change(const std::set<JobKey>& touched, Urgency urgency) const {
  if (!on_change_) return;
  for (const auto& key : touched) on_change_(key, urgency);
}

std::optional<JobView> JobCache::view(const JobKey& key) const {
  const MutexLock lock(mutex_);
  const auto entry = jobs_.find(key);
  // A job that is being deleted counts as deleted: Kubernetes also deletes its pods, so do not replace
  // them.
  if (entry == jobs_.end() || !entry->second.complaint.empty() || entry->second.is_deleting)
    return std::nullopt;
  JobView view{.job = entry->second.job, .pods = {}, .nodes = {}, .pod_versions = {}};
  std::set<std::string> under;
  std::set<std::string> beside;
  const auto own = pods_of_job_.find({key.name_space, view.job.meta.uid});
  if (own != pods_of_job_.end()) {
    for (const auto& pod_key : own->second) {
      const kube::MemberPod& known = pods_.at(pod_key);
      const api::Pod& pod = known.pod;
      view.pods.push_back(pod);
      if (!known.resource_version.empty()) view.pod_versions.emplace(pod.uid, known.resource_version);
      if (!pod.node.empty()) under.insert(pod.node);
      beside.insert(pod.avoided_nodes.begin(), pod.avoided_nodes.end());
    }
  }
  for (const auto& suspect : view.job.status.suspect_nodes) beside.insert(suspect.name);
  beside.insert(under.begin(), under.end());
  for (const auto& name : beside) {
    if (const auto node = nodes_.find(name); node != nodes_.end())
      view.nodes.push_back(node->second);
    else if (under.contains(name) && deleted_nodes_.contains(name))
      view.nodes.push_back({.name = name, .is_lost = true, .is_ready = false, .is_deleting = true});
  }
  return view;
}

std::vector<JobKey> JobCache::jobs() const {
  const MutexLock lock(mutex_);
  std::vector<JobKey> keys;
  for (const auto& [key, entry] : jobs_)
    if (entry.complaint.empty() && !entry.is_deleting) keys.push_back(key);
  return keys;
}

ProcessesInUse JobCache::processes_in_use(const std::string& name_space) const {
  const MutexLock lock(mutex_);
  ProcessesInUse in_use;
  for (auto it = pods_of_job_.lower_bound({name_space, ""});
       it != pods_of_job_.end() && it->first.first == name_space; ++it) {
    const auto runs = [&](const PodKey& key)
                          RATOON_REQUIRES(mutex_) { return !pods_.at(key).pod.has_ended(); };
    const auto running = static_cast<std::uint64_t>(std::ranges::count_if(it->second, runs));
    if (running == 0) continue;
    const JobKey owner = owner_of(pods_.at(*it->second.begin()));
    const auto entry = jobs_.find(owner);
    const bool is_known = entry != jobs_.end() && entry->second.job.meta.uid == it->first.second;
    const std::uint64_t members = is_known ? entry->second.job.status.members.size() : 0;
    const std::uint64_t each = is_known ? entry->second.job.spec.processes_per_node : 1;
    // Pods beside the members, such as successors and pods that hang on a lost node, do not count.
    in_use[owner] += (members > 0 ? members : running) * each;
  }
  return in_use;
}

std::vector<UnreadableJob> JobCache::unreadable_jobs() const {
  const MutexLock lock(mutex_);
  std::vector<UnreadableJob> broken;
  for (const auto& [key, entry] : jobs_)
    if (!entry.complaint.empty() && !entry.is_deleting)
      broken.push_back(
          {.meta = entry.job.meta, .complaint = entry.complaint, .conditions = entry.conditions});
  return broken;
}

}  // namespace ratoon::runtime
