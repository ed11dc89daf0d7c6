// The sinks through which reflectors fill the JobCache, one for each kind of Kubernetes objects.
#pragma once

#include <set>
#include <string>

#include "operator/runtime/api_server/reflector.h"
#include "operator/runtime/jobs/job_cache.h"

namespace ratoon::runtime {

class JobSink final : public KubeObjectSink {
 public:
  explicit JobSink(JobCache& cache) : cache_(cache) {}
  void begin_list() override { listed_.clear(); }
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string& resource_version) override;
  void put(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override { cache_.remove_job(object); }
  void reach(const std::string& resource_version) override;

 private:
  JobCache& cache_;
  std::set<JobKey> listed_;
};

class PodSink final : public KubeObjectSink {
 public:
  explicit PodSink(JobCache& cache) : cache_(cache) {}
  void begin_list() override { listed_.clear(); }
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string& resource_version) override;
  void put(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override { cache_.remove_pod(object); }
  void reach(const std::string& resource_version) override;

 private:
  JobCache& cache_;
  std::set<JobKey> listed_;
};

class NodeSink final : public KubeObjectSink {
 public:
  explicit NodeSink(JobCache& cache) : cache_(cache) {}
  void begin_list() override { listed_.clear(); }
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string&) override { cache_.replace_nodes(listed_); }
  void put(const nlohmann::json& object) override { cache_.put_node(object); }
  void remove(const nlohmann::json& object) override { cache_.remove_node(object); }
  void reach(const std::string&) override {}

 private:
  JobCache& cache_;
  std::set<std::string> listed_;
};

}  // namespace ratoon::runtime
