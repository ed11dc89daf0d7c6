#include "cli/cluster/show_logs.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/contract/names.h"
#include "base/core/pause.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/access/job_client.h"
#include "cli/cluster/log_lines.h"
#include "cli/command.h"
#include "cli/run/member_lines.h"
#include "cli/standard_streams.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/pod_codec.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr Duration kPodPollInterval = std::chrono::seconds(1);  // at pods and job
constexpr std::uint32_t kPodsMax = 10'000;
constexpr int kNotFound = 404;

struct Container {
  std::string pod;
  std::string uid;
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string name;
  bool has_started = false;
};

bool has_started(const json& pod, const std::string& container) {
  for (const json& status : kube::items_of(kube::child(pod, "status"), "containerStatuses")) {
    if (kube::string_field(status, "name") != container) continue;
    const json& state = kube::child(status, "state");
    return state.contains("running") || state.contains("terminated");
  }
  return false;
}

class JobLogs {
 public:
  JobLogs(const JobClient& client, const LogsRequest& request) : client_(client), request_(request) {}

  Result<void> show() {
    bool is_last = false;
    for (bool is_first = true;; is_first = false) {
      const auto jobs = client_.find(request_.job);
      if (jobs) is_last = !request_.is_followed || is_over(jobs->front());
      if (!jobs && (is_first || jobs.error().kind() == ErrorKind::kNotFound)) return jobs.error();
      if (jobs) {
        auto seen = look_at_pods(kube::string_field(kube::child(jobs->front(), "metadata"), "uid"), is_first);
        if (!seen && is_first) return seen;
        if (seen && is_last) break;
      }
      if (const auto failure = find_failure()) return *failure;
      static_cast<void>(pause_for(kPodPollInterval, {}));
    }
    for (std::jthread& thread : threads_) thread.join();
    if (const auto failure = find_failure()) return *failure;
    return {};
  }

 private:
  Result<void> look_at_pods(const std::string& job_uid, bool is_first) {
    const auto containers = list_containers(job_uid);
    if (!containers) return containers.error();
    if (is_first && containers->empty()) {
      const std::string sentence = "TrainingJob '" + request_.job + "' in " + query_text(client_.query()) +
                                   " has no pod" + of_member() + " now; `kubectl ratoon status " +
                                   request_.job + "` says what it waits for";
      if (!request_.is_followed) return Error(ErrorKind::kNotFound, sentence);
      print_error(sentence);
    }
    for (const Container& container : *containers) {
      if (!container.has_started || !shown_.insert(container.uid).second) continue;
      if (request_.is_followed)
        threads_.emplace_back([this, container](const std::stop_token& stop) { stream(container, stop); });
      else
        stream(container, {});
    }
    return {};
  }

  [[nodiscard]] std::string of_member() const {
    return request_.member.empty() ? "" : " of member '" + request_.member + "'";
  }

  // Returns the job's containers, sorted by role, index and incarnation (number of the replacement).
  [[nodiscard]] Result<std::vector<Container>> list_containers(const std::string& job_uid) const {
    const auto request = kube::list({.resource = kube::kPods,
                                     .name_space = client_.query().name_space,
                                     .label_selector = std::string(names::label::kJobUid) + "=" + job_uid},
                                    kPodsMax, "");
    if (!request) return request.error();
    const auto page = client_.api().call(*request, {}, kTimeout);
    if (!page) return page.error().with_context("listing the pods of " + request_.job);
    std::vector<Container> found;
    for (const json& document : kube::items_of(*page, "items")) {
      const auto decoded = kube::decode_pod(document);
      if (!decoded) continue;
      const api::Pod& pod = decoded->pod;
      const std::string member = pod.role + "-" + std::to_string(pod.index);
      if (!request_.member.empty() && request_.member != member) continue;
      const std::string name = kube::trainer_container_name(document);
      found.push_back({.pod = pod.name,
                       .uid = pod.uid,
                       .role = pod.role,
                       .index = pod.index,
                       .incarnation = pod.incarnation,
                       .name = name,
                       .has_started = has_started(document, name)});
    }
    std::ranges::sort(found, {},
                      [](const Container& one) { return std::tie(one.role, one.index, one.incarnation); });
    return found;
  }

  // Streams the log until the container ends; continues a stream that is cut off.
  void stream(const Container& container, const std::stop_token& stop) {
    const std::string prefix = request_.member.empty() ? prefix_of(container.pod) : "";
    LogLines lines(
        [&](std::string_view line) { return print(prefix + shown_line(line, is_terminal_) + "\n"); });
    bool is_told = false;
    while (!stop.stop_requested()) {
      const auto request = kube::pod_log(
          {.resource = kube::kPods, .name_space = client_.query().name_space, .name = container.pod},
          {.container = container.name,
           .is_followed = request_.is_followed,
           .lines_max = lines.newest().empty() ? request_.lines_max : std::nullopt,
           .since = lines.newest()});
      if (!request) return fail(request.error());
      const http::Limits limits{.total = {}, .silence = request_.is_followed ? Duration{} : kTimeout};
      const auto head = client_.api().stream(*request, limits, lines, stop);
      if (find_failure()) return;
      if (head && lines.status() == 200) return static_cast<void>(lines.end_stream());
      if (head && lines.status() == kNotFound && request_.is_followed) return;  // the pod is gone
      const Error error =
          head ? kube::read_api_failure(lines.status(), lines.refusal(), "").error : head.error();
      const bool may_again = request_.is_followed && error.is_retryable();
      if (!may_again) return fail(error.with_context("reading the log of " + container.pod));
      if (!std::exchange(is_told, true))
        print_error("the log of " + container.pod + " cannot be read for now: " + error.message());
      static_cast<void>(pause_for(kPodPollInterval, stop));
    }
  }

  Result<void> print(const std::string& text) {
    const std::lock_guard lock(mutex_);
    print_text(text);
    auto written = flush_output();
    if (!written && !failure_) failure_ = written.error();
    return written;
  }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = error;
  }
  [[nodiscard]] std::optional<Error> find_failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  const JobClient& client_;
  const LogsRequest& request_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::set<std::string> shown_;  // pods, by UID
  std::mutex mutex_;
  std::optional<Error> failure_;       // guarded by mutex_, as is standard output
  std::vector<std::jthread> threads_;  // last: they use the members above
};

}  // namespace

int show_logs(const ClusterSelection& selection, const LogsRequest& request) {
  const auto client = JobClient::connect(selection);
  if (!client) return print_error_and_exit_code(client.error());
  JobLogs logs(**client, request);
  const auto shown = logs.show();
  return shown ? static_cast<int>(ExitCode::kDone) : print_error_and_exit_code(shown.error());
}

}  // namespace ratoon::cli
