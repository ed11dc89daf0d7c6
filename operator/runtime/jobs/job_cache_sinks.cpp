#include "operator/runtime/jobs/job_cache_sinks.h"

#include "base/contract/names.h"
#include "operator/kube/metadata.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

// Adds apiVersion and kind to an item of a list. In a list reply only the list has these fields, but the
// codec of jobs needs them in each item.
json with_kind(const json& object) {
  json whole = object;
  whole["apiVersion"] = names::kApiVersion;
  whole["kind"] = names::kKind;
  return whole;
}

}  // namespace

void JobSink::list_object(const json& object) {
  listed_.insert(kube::job_key_in(object));
  cache_.put_job(object.contains("kind") ? object : with_kind(object));
}

void JobSink::end_list(const std::string& resource_version) {
  cache_.replace_jobs(listed_, kube::parse_version(resource_version));
}

void JobSink::put(const json& object) {
  cache_.advance_jobs_version(kube::resource_version_in(object));
  cache_.put_job(object);
}

void JobSink::reach(const std::string& resource_version) {
  cache_.advance_jobs_version(kube::parse_version(resource_version));
}

void PodSink::list_object(const json& object) {
  listed_.insert(kube::job_key_in(object));
  cache_.put_pod(object);
}

void PodSink::end_list(const std::string& resource_version) {
  cache_.replace_pods(listed_, kube::parse_version(resource_version));
}

void PodSink::put(const json& object) {
  cache_.advance_pods_version(kube::resource_version_in(object));
  cache_.put_pod(object);
}

void PodSink::reach(const std::string& resource_version) {
  cache_.advance_pods_version(kube::parse_version(resource_version));
}

void NodeSink::list_object(const json& object) {
  listed_.insert(kube::job_key_in(object).name);
  cache_.put_node(object);
}

}  // namespace ratoon::runtime
