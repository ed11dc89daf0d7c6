#include "cli/cluster/show_jobs.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/contract/exit_code.h"
#include "base/http/certificate.h"
#include "cli/checkpoint/commands.h"
#include "cli/cluster/job_pages.h"
#include "cli/cluster/job_table.h"
#include "cli/cluster/refusals.h"
#include "cli/command.h"
#include "operator/kube/lenient.h"
#include "operator/kube/metadata.h"
#include "operator/runtime/api_client.h"
#include "operator/runtime/kubeconfig.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr Duration kPatience = std::chrono::seconds(10);
constexpr Duration kLook = std::chrono::seconds(1);  // what is shown counts down
constexpr Duration kRefusalPatience = std::chrono::seconds(3);
constexpr std::uint32_t kPageItems = 500;

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<kube::Access> find_access(const ClusterWish& wish) {
  const auto path = choose_kubeconfig(wish, environment, [](const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
  });
  if (!path) return path.error();
  if (path->empty()) return runtime::find_access("", environment);
  return runtime::read_kubeconfig(*path, wish.context);
}

class JobQuestion {
 public:
  JobQuestion(kube::Access access, const ClusterWish& wish, std::string name)
      : asked_{.server = access.server,
               .name_space = wish.is_for_all           ? ""
                             : wish.name_space.empty() ? access.name_space
                                                       : wish.name_space,
               .certificate_end = http::certificate_end(access.certificate_pem)},
        name_(std::move(name)),
        client_(std::move(access), clock_),
        pages_(asked_, name_) {}

  Result<void> answer(const Display& display) {
    Page page(display);
    auto shown = show_first(display, page);
    return shown && display.is_watched ? follow(display, page) : shown;
  }

 private:
  kube::Selection selection(const std::string& name) const {
    return {.resource = kube::kTrainingJobs,
            .name_space = asked_.name_space,
            .field_selector = name.empty() ? "" : "metadata.name=" + name};
  }

  Result<std::vector<json>> list(const std::string& name) const {
    std::vector<json> objects;
    std::string continue_token;
    do {
      const auto request = kube::list(selection(name), kPageItems, continue_token);
      if (!request) return request.error();
      std::optional<kube::Failure> refusal;
      const auto page = client_.call(*request, {}, kPatience, refusal);
      if (!page) return explain_list(asked_, page.error(), refusal, clock_.wall_now());
      for (const auto& object : kube::items_of(*page, "items")) objects.push_back(object);
      continue_token = kube::text_in(kube::child(*page, "metadata"), "continue");
    } while (!continue_token.empty());
    return objects;
  }

  // There is something to show at first: whoever mistyped a name is told so.
  Result<void> show_first(const Display& display, Page& page) {
    const auto objects = list(name_);
    if (!objects) return objects.error();
    if (!objects->empty()) return show(*objects, display, page);
    if (name_.empty()) return Error(ErrorKind::kNotFound, "there is no TrainingJob in " + place_text(asked_));
    const auto others = list("");
    if (!others) return others.error();
    std::vector<std::string> names;
    for (const auto& other : *others) names.push_back(kube::key_in(other).name);
    return explain_missing(asked_, name_, names);
  }

  Result<void> show(const std::vector<json>& objects, const Display& display, Page& page) {
    if (auto taken = pages_.take(objects); !taken) return taken;
    if (pages_.is_empty() && !name_.empty())
      return Error(ErrorKind::kNotFound,
                   "TrainingJob '" + name_ + "' was deleted from " + place_text(asked_));
    const PageKind kind = display.is_json && display.is_watched ? PageKind::kJsonLine
                          : display.is_json                     ? PageKind::kJson
                          : page.is_summary()                   ? PageKind::kSummary
                                                                : PageKind::kPicture;
    page.put(pages_.text(kind, clock_.wall_now(), page.size().columns, page.rows()));
    return {};
  }

  Result<void> follow(const Display& display, Page& page) {
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

  // A server that is away is waited for, and that is said once. One that says no ends the watch, unless it
  // has just begun to serve: then it may not know its own rules yet.
  std::optional<Error> tell_trouble(const runtime::Reflector& reflector) {
    const auto trouble = reflector.trouble();
    const bool is_refused = trouble && trouble->kind() == ErrorKind::kPermissionDenied;
    if (!is_refused) refused_since_.reset();
    if (is_refused && !refused_since_) refused_since_ = clock_.now();
    if (is_refused && clock_.now() - *refused_since_ > kRefusalPatience)
      return explain_watch(asked_, *trouble);
    if (trouble.has_value() != std::exchange(is_in_trouble_, trouble.has_value()))
      complain(trouble ? "no news from " + asked_.server + " for now: " + trouble->message()
                       : asked_.server + " answers again");
    return std::nullopt;
  }

  const SystemClock clock_;
  const Asked asked_;
  const std::string name_;
  const runtime::ApiClient client_;
  JobPages pages_;
  bool is_in_trouble_ = false;
  std::optional<Timestamp> refused_since_;
};

}  // namespace

int show_jobs(const ClusterWish& wish, const std::string& name, const Display& display) {
  auto access = find_access(wish);
  if (!access) return complain_of(access.error());
  const auto answered = JobQuestion(*std::move(access), wish, name).answer(display);
  return answered ? static_cast<int>(ExitCode::kDone) : complain_of(answered.error());
}

}  // namespace ratoon::cli
