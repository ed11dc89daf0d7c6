// MetricsPorts: assigns the ports of 127.0.0.1 at which members of a local run serve /metrics. Each process
// has its own port: local rank 0 has the first port of its member, local rank n the n-th port after it.
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
  // The kernel's range of ephemeral ports, from which a program gets a port if it names none.
  struct Range {
    std::uint32_t first = 32'768;
    std::uint32_t last = 60'999;
  };
  [[nodiscard]] static Range read_ephemeral_range();

  // Assigns ports outside of the ephemeral range, which other programs do not get by accident. `named`:
  // RATOON_METRICS_PORT in the environment of `ratoon run`.
  explicit MetricsPorts(std::optional<std::string> named = {}, Range ephemeral = read_ephemeral_range());

  // Assigns ports to the processes of a pod that is about to start. `pods`: the existing pods. A program gets
  // no port if it runs without the agent or if the user has set RATOON_METRICS_PORT to 0.
  void choose(const api::TrainingJob& job, const api::Pod& pod, const std::vector<api::Pod>& pods);
  // Adds the ports of their processes to the running members in status.json.
  void add_to(nlohmann::json& members) const;

  // Returns the first of the member's ports, all of which are free now, or nothing if too few are free.
  // `named`: the lowest port to take, from RATOON_METRICS_PORT; without that variable any port may be taken.
  [[nodiscard]] std::optional<std::uint16_t> assign(const std::string& member, std::uint32_t processes,
                                                    std::optional<std::uint32_t> named);
  // Returns the first port of the member, or nothing if it has none.
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
