// RunView: a local run as its folder tells of it, or a cluster's job as its status does, and what a person
// sees of it. Pure.
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
  std::string saves;        // where it saves; empty: in its folder, or it is not known
  bool is_running = false;  // a runner is at work in it; of a cluster's job: it is not over
  api::TrainingJob job;
  std::vector<Member> members;
  std::vector<Node> nodes;
  std::vector<Recovery> recoveries;  // the oldest first
  std::uint64_t losses_on_purpose = 0;
  std::uint64_t position = 0;
  std::uint64_t total = 0;  // 0: not known
  std::string unit;
  std::optional<double> loss{};
  std::optional<double> steps_per_second{};
  std::optional<double> seconds_left{};
};

// status.json of a run's folder. What an older runner did not write is left out.
[[nodiscard]] Result<RunView> decode_run_view(const nlohmann::json& document);

// How far it is, in one line: for logs.
[[nodiscard]] std::string summary_line(const RunView& view);
// All of it, a table of nodes and members, what it recovered from and what hinders it; each line at most
// `columns` wide and no more than `rows` of them. 0: as they come.
[[nodiscard]] std::vector<std::string> render_run(const RunView& view, WallTime now, std::size_t columns,
                                                  std::size_t rows);

}  // namespace ratoon::cli
