// MetricsPorts: the ports of 127.0.0.1 at which the members of a local run serve /metrics. Each process has a
// port of its own: local rank 0 the first port of its member, and the others the following ports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::local {

class MetricsPorts {
 public:
  // The range from which the kernel takes ports for programs that ask for any port.
  struct Range {
    std::uint32_t first = 32'768;
    std::uint32_t last = 60'999;
  };
  [[nodiscard]] static Range read_ephemeral_range();

  // Outside of this range other programs do not get a port by accident. `named`: RATOON_METRICS_PORT in the
  // runner's environment.
  explicit MetricsPorts(std::optional<std::string> named = {}, Range ephemeral = read_ephemeral_range());

  // Assigns ports to the processes of a pod that is about to start; `pods`: those that exist. A program
  // without the agent gets no port, nor does a program whose user has set RATOON_METRICS_PORT to 0.
  void choose(const api::TrainingJob& job, const api::Pod& pod, const std::vector<api::Pod>& pods);
  // Adds the ports of their processes to the living members in status.json.
  void add_to(nlohmann::json& members) const;

  // Returns the first port of the member, whose ports are free now. `named` is the lowest port to take, as
  // the user has it in RATOON_METRICS_PORT; without it any port. Nothing: too few ports are free.
  [[nodiscard]] std::optional<std::uint16_t> assign(const std::string& member, std::uint32_t processes,
                                                    std::optional<std::uint32_t> named);
  // Nothing: the member has no port.
  [[nodiscard]] std::optional<std::uint16_t> first_of(const std::string& member) const;

 private:
  struct Block {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  [[nodiscard]] bool is_free(const Block& block) const;
  [[nodiscard]] std::optional<std::uint32_t> find_block(std::uint32_t first, std::uint32_t end,
                                                        std::uint32_t count) const;

  std::optional<std::string> named_;
  std::uint32_t begin_;  // the ports to choose from
  std::uint32_t end_;
  std::uint32_t next_;
  std::map<std::string, Block> blocks_;  // by member
};

}  // namespace ratoon::local
