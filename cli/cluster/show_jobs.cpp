#include "cli/cluster/show_jobs.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/contract/exit_code.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/access/explain_refusals.h"
#include "cli/cluster/access/job_client.h"
#include "cli/cluster/job_status_text.h"
#include "cli/cluster/job_table.h"
#include "cli/command.h"
#include "operator/runtime/api_server/reflector.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr Duration kRefreshInterval = std::chrono::seconds(1);  // the shown remaining time counts down
constexpr Duration kRefusalTimeout = std::chrono::seconds(3);

class StatusQuery {
 public:
  StatusQuery(const JobClient& client, std::string name)
      : client_(client), name_(std::move(name)), pages_(client.query(), name_) {}

  // Shows the jobs once and then watches them, so that a mistyped name is reported at once.
  Result<void> answer(const StatusDisplay& display) {
    StatusOutput page(display);
    const auto objects = client_.find(name_);
    if (!objects) return objects.error();
    auto shown = show(*objects, display, page);
    return shown && display.is_watched ? follow(display, page) : shown;
  }

 private:
  Result<void> show(const std::vector<json>& objects, const StatusDisplay& display, StatusOutput& page) {
    if (auto taken = pages_.take(objects); !taken) return taken;
    if (pages_.is_empty() && !name_.empty())
      return Error(ErrorKind::kNotFound,
                   "TrainingJob '" + name_ + "' was deleted from " + query_text(client_.query()));
    const JobStatusFormat kind = display.is_json && display.is_watched ? JobStatusFormat::kJsonLine
                                 : display.is_json                     ? JobStatusFormat::kJson
                                 : page.shows_only_summary()           ? JobStatusFormat::kSummary
                                                                       : JobStatusFormat::kPicture;
    page.put(pages_.text(kind, client_.clock().wall_now(), page.size().columns, page.rows()));
    return {};
  }

  Result<void> follow(const StatusDisplay& display, StatusOutput& page) {
    JobTable table;
    const Logger quiet(client_.clock(), {.min_level = LogLevel::kError});
    runtime::Reflector reflector(client_.api(), table, client_.clock(),
                                 {.selection = client_.selection(name_),
                                  .pause_max = std::chrono::seconds(5),
                                  .draw = [] { return 0.5; }},
                                 quiet);
    reflector.start();
    while (!pages_.are_jobs_over()) {
      table.wait_for_change(kRefreshInterval);
      if (const auto refusal = tell_trouble(reflector)) return *refusal;
      if (!table.is_listed()) continue;
      if (auto shown = show(table.jobs(), display, page); !shown) return shown;
    }
    return {};
  }

  // Reports only once that the API server cannot be reached, and waits until it can be reached again. A
  // refusal ends the watch, except in the first seconds, when a server that has just started may not have
  // loaded its RBAC rules.
  std::optional<Error> tell_trouble(const runtime::Reflector& reflector) {
    const auto trouble = reflector.trouble();
    const bool is_refused = trouble && trouble->kind() == ErrorKind::kPermissionDenied;
    if (!is_refused) refused_since_.reset();
    if (is_refused && !refused_since_) refused_since_ = client_.clock().now();
    if (is_refused && client_.clock().now() - *refused_since_ > kRefusalTimeout)
      return explain_watch_failure(client_.query(), *trouble);
    if (trouble.has_value() != std::exchange(is_in_trouble_, trouble.has_value()))
      print_error(trouble ? "cannot watch " + client_.query().server + " for now: " + trouble->message()
                          : "the API server " + client_.query().server + " answers again");
    return std::nullopt;
  }

  const JobClient& client_;
  const std::string name_;
  JobStatusText pages_;
  bool is_in_trouble_ = false;
  std::optional<Timestamp> refused_since_;
};

}  // namespace

int show_jobs(const ClusterSelection& selection, const std::string& name, const StatusDisplay& display) {
  const auto client = JobClient::connect(selection);
  if (!client) return print_error_and_exit_code(client.error());
  const auto answered = StatusQuery(**client, name).answer(display);
  return answered ? static_cast<int>(ExitCode::kDone) : print_error_and_exit_code(answered.error());
}

}  // namespace ratoon::cli
