// cli/cluster/reader/: reads the checkpoints of a cluster's job for `kubectl ratoon checkpoints` and `kubectl
// ratoon report`. Only a pod that is configured like the job's pods reaches the job's volumes and stores. So
// `kubectl ratoon` starts such a pod (the reader pod), prints its output and deletes it. The functions of
// this header make the pod from the template of a role. They have no side effects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::cli {

struct ReaderRequest {
  std::vector<std::string> words;  // of `ratoon`; the place of the checkpoints comes behind them
  std::string location{};          // a folder in the pod, or a URL; empty: where the members save
  std::string image{};             // with the command `ratoon`; empty: the operator's
  std::string node{};              // for a volume of one node; empty: the node of a member
  std::uint32_t seconds_max = 0;   // after this time kubelet ends the pod
};

// Returns whether the place of the job's checkpoints is known without ReaderRequest::location.
[[nodiscard]] bool is_save_place_known(const api::TrainingJob& job);

// Returns the pod without a name, because the API server makes the name from metadata.generateName. The pod
// has no labels of a member. The job owns the pod, so the cluster deletes both together. Returns an error if
// no pod can read the checkpoints.
[[nodiscard]] Result<nlohmann::json> make_reader_pod(const api::TrainingJob& job,
                                                     const ReaderRequest& request);

}  // namespace ratoon::cli
