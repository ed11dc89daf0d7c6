// MetricsPorts: assigns the ports of 127.0.0.1 at which members of a local run serve /metrics. Each process
// has its own port: local rank 0 has its member's first port, local rank n the n-th port after it.
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
  // The kernel's range of ephemeral ports: a program that asks for any free port gets a port of this range.
  struct PortRange {
    std::uint32_t first = 32'768;
    std::uint32_t last = 60'999;
  };
  [[nodiscard]] static PortRange read_ephemeral_range();

  // Assigns ports outside of the ephemeral range, because another program gets a port outside of this range
  // only if the program asks for exactly this port. `named`: the value of RATOON_METRICS_PORT in the
  // environment of `ratoon run`.
  explicit MetricsPorts(std::optional<std::string> named = {}, PortRange ephemeral = read_ephemeral_range());

  // Assigns ports to the processes of a pod that is about to start. `pods`: the existing pods. A program gets
  // no port if it runs without the agent or if the user has set RATOON_METRICS_PORT to 0.
  void assign_to_pod(const api::TrainingJob& job, const api::Pod& pod, const std::vector<api::Pod>& pods);
  // Adds to each running member in status.json the ports of its processes.
  void add_ports_to(nlohmann::json& members) const;

  // Assigns `processes` consecutive free ports to the member and returns the first of them, or nothing if too
  // few ports are free. `named` is the lowest port that may be assigned, from RATOON_METRICS_PORT. Without
  // `named`, any port outside of the ephemeral range may be assigned.
  [[nodiscard]] std::optional<std::uint16_t> assign(const std::string& member, std::uint32_t processes,
                                                    std::optional<std::uint32_t> named);
  // Returns the first port of the member, or nothing if it has none.
  [[nodiscard]] std::optional<std::uint16_t> first_port_of(const std::string& member) const;

 private:
  struct PortBlock {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  [[nodiscard]] bool are_ports_free(const PortBlock& block) const;
  [[nodiscard]] std::optional<std::uint32_t> find_block(std::uint32_t first, std::uint32_t end,
                                                        std::uint32_t count) const;

  std::optional<std::string> requested_port_;
  std::uint32_t ports_begin_;  // the ports to choose from
  std::uint32_t ports_end_;
  std::uint32_t next_port_;
  std::map<std::string, PortBlock> blocks_;  // by member
};

}  // namespace ratoon::local
