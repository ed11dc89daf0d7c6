#include "cli/cluster/show_jobs.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/contract/exit_code.h"
#include "base/http/tls/certificate.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/explain_refusals.h"
#include "cli/cluster/job_status_text.h"
#include "cli/cluster/job_table.h"
#include "cli/command.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/metadata.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/api_server/kubeconfig.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr Duration kLook = std::chrono::seconds(1);  // the shown remaining time counts down
constexpr Duration kRefusalTimeout = std::chrono::seconds(3);
constexpr std::uint32_t kPageItems = 500;

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<kube::ApiServerAccess> find_api_server_access(const ClusterSelection& selection) {
  const auto path = choose_kubeconfig(selection, environment, [](const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
  });
  if (!path) return path.error();
  if (path->empty()) return runtime::find_api_server_access("", environment);
  return runtime::read_kubeconfig(*path, selection.context);
}

class JobQuestion {
 public:
  JobQuestion(kube::ApiServerAccess access, const ClusterSelection& selection, std::string name)
      : query_{.server = access.server,
               .name_space = selection.is_for_all           ? ""
                             : selection.name_space.empty() ? access.name_space
                                                            : selection.name_space,
               .certificate_end = http::certificate_end(access.certificate_pem)},
        name_(std::move(name)),
        client_(std::move(access), clock_),
        pages_(query_, name_) {}

  Result<void> answer(const StatusDisplay& display) {
    StatusOutput page(display);
    auto shown = show_first(display, page);
    return shown && display.is_watched ? follow(display, page) : shown;
  }

 private:
  kube::Selection selection(const std::string& name) const {
    return {.resource = kube::kTrainingJobs,
            .name_space = query_.name_space,
            .field_selector = name.empty() ? "" : "metadata.name=" + name};
  }

  Result<std::vector<json>> list(const std::string& name) const {
    std::vector<json> objects;
    std::string continue_token;
    do {
      const auto request = kube::list(selection(name), kPageItems, continue_token);
      if (!request) return request.error();
      std::optional<kube::ApiFailure> refusal;
      const auto page = client_.call(*request, {}, kTimeout, refusal);
      if (!page) return explain_list(query_, page.error(), refusal, clock_.wall_now());
      for (const auto& object : kube::items_of(*page, "items")) objects.push_back(object);
      continue_token = kube::text_in(kube::child(*page, "metadata"), "continue");
    } while (!continue_token.empty());
    return objects;
  }

  // Shows the jobs once before it watches, so that a mistyped name is reported.
  Result<void> show_first(const StatusDisplay& display, StatusOutput& page) {
    const auto objects = list(name_);
    if (!objects) return objects.error();
    if (!objects->empty()) return show(*objects, display, page);
    if (name_.empty()) return Error(ErrorKind::kNotFound, "there is no TrainingJob in " + query_text(query_));
    const auto others = list("");
    if (!others) return others.error();
    std::vector<std::string> names;
    for (const auto& other : *others) names.push_back(kube::key_in(other).name);
    return explain_missing(query_, name_, names);
  }

  Result<void> show(const std::vector<json>& objects, const StatusDisplay& display, StatusOutput& page) {
    if (auto taken = pages_.take(objects); !taken) return taken;
    if (pages_.is_empty() && !name_.empty())
      return Error(ErrorKind::kNotFound,
                   "TrainingJob '" + name_ + "' was deleted from " + query_text(query_));
    const JobStatusFormat kind = display.is_json && display.is_watched ? JobStatusFormat::kJsonLine
                                 : display.is_json                     ? JobStatusFormat::kJson
                                 : page.is_summary()                   ? JobStatusFormat::kSummary
                                                                       : JobStatusFormat::kPicture;
    page.put(pages_.text(kind, clock_.wall_now(), page.size().columns, page.rows()));
    return {};
  }

  Result<void> follow(const StatusDisplay& display, StatusOutput& page) {
    JobTable table;
    const Logger quiet(clock_, {.min_level = LogLevel::kError});
    runtime::Reflector reflector(
        client_, table, clock_,
        {.selection = selection(name_), .pause_max = std::chrono::seconds(5), .draw = [] { return 0.5; }},
        quiet);
    reflector.start();
    while (!pages_.are_over()) {
      table.wait_for_news(kLook);
      if (const auto refusal = tell_trouble(reflector)) return *refusal;
      if (!table.is_listed()) continue;
      if (auto shown = show(table.jobs(), display, page); !shown) return shown;
    }
    return {};
  }

  // Waits for a server that cannot be reached, and reports it once. A refusal ends the watch, except for the
  // first seconds: a server that has just started may not have loaded its rules.
  std::optional<Error> tell_trouble(const runtime::Reflector& reflector) {
    const auto trouble = reflector.trouble();
    const bool is_refused = trouble && trouble->kind() == ErrorKind::kPermissionDenied;
    if (!is_refused) refused_since_.reset();
    if (is_refused && !refused_since_) refused_since_ = clock_.now();
    if (is_refused && clock_.now() - *refused_since_ > kRefusalTimeout)
      return explain_watch(query_, *trouble);
    if (trouble.has_value() != std::exchange(is_in_trouble_, trouble.has_value()))
      complain(trouble ? "cannot watch " + query_.server + " for now: " + trouble->message()
                       : query_.server + " answers again");
    return std::nullopt;
  }

  const SystemClock clock_;
  const ClusterQuery query_;
  const std::string name_;
  const runtime::ApiClient client_;
  JobStatusText pages_;
  bool is_in_trouble_ = false;
  std::optional<Timestamp> refused_since_;
};

}  // namespace

int show_jobs(const ClusterSelection& selection, const std::string& name, const StatusDisplay& display) {
  auto access = find_api_server_access(selection);
  if (!access) return complain_of(access.error());
  const auto answered = JobQuestion(*std::move(access), selection, name).answer(display);
  return answered ? static_cast<int>(ExitCode::kDone) : complain_of(answered.error());
}

}  // namespace ratoon::cli
