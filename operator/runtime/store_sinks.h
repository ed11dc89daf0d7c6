// The doors by which reflectors fill the store, one a kind of objects.
#pragma once

#include <set>
#include <string>

#include "operator/runtime/reflector.h"
#include "operator/runtime/store.h"

namespace ratoon::runtime {

class JobSink final : public ObjectSink {
 public:
  explicit JobSink(Store& store) : store_(store) {}
  void begin_list() override { listed_.clear(); }
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string& resource_version) override;
  void put(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override { store_.remove_job(object); }
  void reach(const std::string& resource_version) override;

 private:
  Store& store_;
  std::set<JobKey> listed_;
};

class PodSink final : public ObjectSink {
 public:
  explicit PodSink(Store& store) : store_(store) {}
  void begin_list() override { listed_.clear(); }
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string& resource_version) override;
  void put(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override { store_.remove_pod(object); }
  void reach(const std::string& resource_version) override;

 private:
  Store& store_;
  std::set<JobKey> listed_;
};

class NodeSink final : public ObjectSink {
 public:
  explicit NodeSink(Store& store) : store_(store) {}
  void begin_list() override { listed_.clear(); }
  void list_object(const nlohmann::json& object) override;
  void end_list(const std::string&) override { store_.replace_nodes(listed_); }
  void put(const nlohmann::json& object) override { store_.put_node(object); }
  void remove(const nlohmann::json& object) override { store_.remove_node(object); }
  void reach(const std::string&) override {}

 private:
  Store& store_;
  std::set<std::string> listed_;
};

}  // namespace ratoon::runtime
