#include "cli/cluster/job_status_text.h"

#include <algorithm>
#include <utility>

#include "base/core/split_join.h"
#include "cli/cluster/job_document.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr int kStatusVersion = 1;

}  // namespace

// Computes the rate from the operator's timestamps, because timestamps of the local clock would include the
// delays of the watch.
const local::ProgressRate& JobStatusText::update_progress_rate(const api::TrainingJob& job) {
  Rate& rate = rates_[api::key_of(job)];
  const auto& status = job.status;
  if (std::exchange(rate.attempt, status.attempt) != status.attempt || !status.is_world_formed)
    rate.rate.restart();
  if (status.is_world_formed && status.last_step_at) {
    rate.rate.add_point(
        {.at = Timestamp{status.last_step_at->since_epoch},
         .steps = status.step.value(),
         .position = status.outlook.total > 0 ? status.outlook.position : status.step.value()});
  }
  return rate.rate;
}

Result<void> JobStatusText::take(const std::vector<json>& objects) {
  jobs_.clear();
  unreadable_job_errors_.clear();
  for (const auto& object : objects) {
    auto job = api::decode_training_job(object);
    if (!job && name_.empty())
      unreadable_job_errors_.push_back(job.error().message());  // the others are shown
    if (!job && name_.empty()) continue;
    if (!job) return job.error();
    const local::ProgressRate& rate = update_progress_rate(*job);
    const std::uint64_t total = job->status.outlook.total;
    json document =
        describe_job(*job, rate.steps_per_second(), total == 0 ? std::nullopt : rate.seconds_to(total));
    auto view = decode_run_view(document);
    if (!view) return view.error();
    view->is_running = !api::is_over(job->status.phase);
    view->place = query_text({.server = query_.server, .name_space = job->meta.name_space});
    jobs_.push_back({.document = std::move(document), .view = *std::move(view)});
  }
  if (name_.empty() || jobs_.size() < 2) return {};
  const auto places = join(jobs_, ", ", [](const Job& job) { return job.view.job.meta.name_space; });
  return Error(ErrorKind::kInvalid, "which '" + name_ + "'? The name exists in each of the namespaces " +
                                        places + ": choose one with --namespace");
}

bool JobStatusText::are_jobs_over() const {
  return std::ranges::all_of(jobs_, [](const Job& job) { return api::is_over(job.view.job.status.phase); });
}

std::string JobStatusText::json_text(bool is_one_line) const {
  json head = {{"version", kStatusVersion}, {"server", query_.server}};
  if (!name_.empty() && !jobs_.empty()) {
    head.update(jobs_.front().document);
  } else {
    json& all = head["jobs"] = json::array();
    for (const auto& job : jobs_) all.push_back(job.document);
    if (!unreadable_job_errors_.empty()) head["unreadable"] = unreadable_job_errors_;
  }
  return head.dump(is_one_line ? -1 : 2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string JobStatusText::summary() const {
  std::string text;
  for (const auto& job : jobs_) {
    const std::string whose =
        name_.empty() ? job.view.job.meta.name_space + "/" + job.view.job.meta.name + ": " : "";
    text += whose + summary_line(job.view) + "\n";
  }
  return text;
}

std::string JobStatusText::text(JobStatusFormat kind, WallTime now, std::size_t columns,
                                std::size_t rows) const {
  if (kind == JobStatusFormat::kJson || kind == JobStatusFormat::kJsonLine)
    return json_text(kind == JobStatusFormat::kJsonLine);
  if (kind == JobStatusFormat::kSummary) return summary();
  if (jobs_.size() == 1 && unreadable_job_errors_.empty())
    return join(render_run(jobs_.front().view, now, columns, rows), "\n") + "\n";
  std::vector<RunView> views;
  for (const auto& job : jobs_) views.push_back(job.view);
  std::vector<std::string> lines = split(jobs_text(views, query_.name_space.empty()), '\n');
  lines.pop_back();  // after the last newline
  lines.insert(lines.end(), unreadable_job_errors_.begin(), unreadable_job_errors_.end());
  return join(lines, "\n", [&](const auto& line) { return line_of(line, columns); }) + "\n";
}

}  // namespace ratoon::cli
