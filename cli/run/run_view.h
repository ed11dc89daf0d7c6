// RunView: the facts that `ratoon status` shows of a run, from a local run's folder or from the status of a
// cluster's job. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::cli {

struct RunView {
  struct Member {
    std::string name;  // with its incarnation
    std::string node;
    std::string phase;
    std::vector<std::uint64_t> metrics_ports{};  // of its processes that live, by local rank
  };
  struct Node {
    std::string name;
    std::optional<WallTime> ends_at{};
  };
  struct Recovery {
    std::string member;
    std::string node;
    std::string reason;
    WallTime time{};
    std::uint64_t lost_steps = 0;
    double seconds = 0;
  };

  std::string folder;
  std::string place;        // of a cluster's job: namespace and server
  std::string saves;        // where it saves; empty: in its folder, or unknown
  bool is_running = false;  // a runner runs it; for a cluster's job: it is not over
  api::TrainingJob job;
  std::vector<Member> members;
  std::vector<Node> nodes;
  std::vector<Recovery> recoveries;  // the oldest first
  std::uint64_t injected_losses = 0;
  std::uint64_t position = 0;
  std::uint64_t total = 0;  // 0: unknown
  std::string unit;
  std::optional<double> loss{};
  std::string best{};  // the best checkpoints of save_best(); empty: there are none
  std::optional<double> steps_per_second{};
  std::optional<double> seconds_left{};
};

// Decodes the status.json of a run's folder. Fields that an older Ratoon did not write stay empty.
[[nodiscard]] Result<RunView> decode_run_view(const nlohmann::json& document);

// Returns the counts of losses, such as "3 lost, 1 failed", and appends ", 2 hung" if members hung. All code
// that shows losses calls this function.
[[nodiscard]] std::string losses_text(const api::Restarts& restarts);

// Returns the run's progress in one line, for logs.
[[nodiscard]] std::string summary_line(const RunView& view);
// Returns the lines of the whole view: nodes and members, recoveries and conditions. Returns at most `rows`
// lines of at most `columns` columns each; the value 0 means no limit.
[[nodiscard]] std::vector<std::string> render_run(const RunView& view, WallTime now, std::size_t columns,
                                                  std::size_t rows);

}  // namespace ratoon::cli
