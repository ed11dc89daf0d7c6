#include "cli/cluster/show_logs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/contract/names.h"
#include "base/core/threads/mutex.h"
#include "base/core/threads/pause.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/access/job_client.h"
#include "cli/cluster/log_lines.h"
#include "cli/command.h"
#include "cli/run/member_lines.h"
#include "cli/standard_streams.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/pod_codec.h"
#include "operator/runtime/api_server/list_objects.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr Duration kPodPollInterval = std::chrono::seconds(1);  // at pods and job
constexpr int kNotFound = 404;

struct Container {
  std::string pod;
  std::string uid;
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string name;
  bool has_started = false;
  bool has_ended = false;
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
    is_job_over_ = true;
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
    note_growing_logs(*containers);
    for (const Container& container : *containers) {
      if (!container.has_started || !shown_.insert(container.uid).second) continue;
      if (request_.is_followed)
        threads_.emplace_back([this, container](const std::stop_token& stop) { stream(container, stop); });
      else
        stream(container, {});
    }
    return {};
  }

  void note_growing_logs(const std::vector<Container>& containers) {
    const MutexLock lock(mutex_);
    growing_.clear();
    for (const Container& container : containers)
      if (!container.has_ended) growing_.insert(container.uid);
  }

  [[nodiscard]] bool is_growing(const Container& container) {
    const MutexLock lock(mutex_);
    return growing_.contains(container.uid);
  }

  [[nodiscard]] std::string of_member() const {
    return request_.member.empty() ? "" : " of member '" + request_.member + "'";
  }

  // Returns the job's containers, sorted by role, index and incarnation (number of the replacement).
  [[nodiscard]] Result<std::vector<Container>> list_containers(const std::string& job_uid) const {
    std::vector<Container> found;
    std::optional<kube::ApiFailure> ignored;
    const auto listed = runtime::list_objects(
        client_.api(),
        {.selection = {.resource = kube::kPods,
                       .name_space = client_.query().name_space,
                       .label_selector = std::string(names::label::kJobUid) + "=" + job_uid + and_index()},
         .page_timeout = kTimeout},
        [&](const json& document) {
          if (auto container = read_container(document)) found.push_back(*std::move(container));
        },
        {}, ignored);
    if (!listed) return listed.error().with_context("listing the pods of " + request_.job);
    std::ranges::sort(found, {},
                      [](const Container& one) { return std::tie(one.role, one.index, one.incarnation); });
    return found;
  }

  // Selects few pods, because the pods of a large job fill many replies. Only the index has a form that is
  // safe in a selector: the user may write any text in front of it.
  [[nodiscard]] std::string and_index() const {
    const auto index = kube::parse_unsigned(request_.member.substr(request_.member.rfind('-') + 1));
    return index ? "," + std::string(names::label::kIndex) + "=" + std::to_string(*index) : "";
  }

  // Returns nothing for a pod that is no member, or not the member of the request.
  [[nodiscard]] std::optional<Container> read_container(const json& document) const {
    const auto decoded = kube::decode_pod(document);
    if (!decoded) return std::nullopt;
    const api::Pod& pod = decoded->pod;
    const std::string member = pod.role + "-" + std::to_string(pod.index);
    if (!request_.member.empty() && request_.member != member) return std::nullopt;
    const std::string name = kube::trainer_container_name(document);
    return Container{.pod = pod.name,
                     .uid = pod.uid,
                     .role = pod.role,
                     .index = pod.index,
                     .incarnation = pod.incarnation,
                     .name = name,
                     .has_started = has_started(document, name),
                     .has_ended = pod.has_ended()};
  }

  // Streams the log until the container ends. Continues a stream that is cut off, and one that ends like a
  // complete reply while the container runs, as when kubelet restarts. After the job's end, tries once more
  // to read a log that cannot be read: the pod of a dead node may exist for ever.
  void stream(const Container& container, const std::stop_token& stop) {
    const std::string prefix = request_.member.empty() ? line_prefix_of(container.pod) : "";
    LogLines lines(
        [&](std::string_view line) { return print(prefix + printable_line(line, is_terminal_) + "\n"); });
    bool is_told = false;
    while (!stop.stop_requested()) {
      const bool is_job_over = is_job_over_;
      const bool has_ended = is_job_over || !is_growing(container);
      const std::string newest_before = lines.newest();
      const auto request = kube::make_log_request(
          {.resource = kube::kPods, .name_space = client_.query().name_space, .name = container.pod},
          {.container = container.name,
           .is_followed = request_.is_followed,
           .lines_max = lines.newest().empty() ? request_.lines_max : std::nullopt,
           .since = lines.newest()});
      if (!request) return fail(request.error());
      const http::Limits limits{.total = {}, .silence = request_.is_followed ? Duration{} : kTimeout};
      const auto head = client_.api().stream(*request, limits, lines, stop);
      if (find_failure()) return;
      const int status = head ? lines.status() : 0;
      // If kubelet breaks off, the API server ends the stream like that of a whole log, also within a line.
      // The next stream repeats this line, and a stream without a new line shows that there is no other.
      const bool is_whole = !request_.is_followed || (has_ended && lines.newest() == newest_before);
      if (status == 200 && is_whole) return static_cast<void>(lines.end_stream());
      if (status == kNotFound && request_.is_followed) return;  // the pod is gone
      if (status != 200) {
        const Error error = head ? kube::read_api_failure(status, lines.refusal(), "").error : head.error();
        const bool may_again = request_.is_followed && error.is_retryable();
        if (!may_again) return fail(error.with_context("reading the log of " + container.pod));
        if (!std::exchange(is_told, true))
          print_error("the log of " + container.pod + " cannot be read for now: " + error.message());
        if (is_job_over) return;
      }
      static_cast<void>(pause_for(kPodPollInterval, stop));
    }
  }

  Result<void> print(const std::string& text) {
    const MutexLock lock(mutex_);
    print_text(text);
    auto written = flush_output();
    if (!written && !failure_) failure_ = written.error();
    return written;
  }

  void fail(const Error& error) {
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = error;
  }
  [[nodiscard]] std::optional<Error> find_failure() {
    const MutexLock lock(mutex_);
    return failure_;
  }

  const JobClient& client_;
  const LogsRequest& request_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::set<std::string> shown_;  // pods, by UID
  std::atomic<bool> is_job_over_{false};
  Mutex mutex_;  // also locked while a thread writes to standard output
  std::set<std::string> growing_ RATOON_GUARDED_BY(mutex_);  // pods with a log that may grow, by UID
  std::optional<Error> failure_ RATOON_GUARDED_BY(mutex_);
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
