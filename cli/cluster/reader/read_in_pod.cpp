#include "cli/cluster/reader/read_in_pod.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/threads/pause.h"
#include "cli/cluster/log_lines.h"
#include "cli/cluster/reader/pod_refusal.h"
#include "cli/cluster/reader/reader_container.h"
#include "cli/cluster/reader/reader_state.h"
#include "cli/command.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr Duration kPollInterval = std::chrono::milliseconds(300);
constexpr std::uint32_t kDeletionGraceSeconds = 1;
constexpr std::uint32_t kEventsMax = 100;
constexpr int kHttpOk = 200;
constexpr int kNotFound = 404;
constexpr int kLogForbidden = 403;

Error interrupted_error() {
  return {ErrorKind::kCancelled, "interrupted"};
}

class ReaderPod {
 public:
  ReaderPod(const JobClient& client, const ReadingLimits& limits, const std::stop_token& stop)
      : client_(client), limits_(limits), stop_(stop) {}

  // Passes no stop token, because the server's reply contains the pod's name, which remove() needs.
  Result<void> create(const json& pod) {
    const kube::ObjectReference place{.resource = kube::kPods, .name_space = name_space()};
    const auto request = kube::create(place, pod);
    if (!request) return request.error();
    const auto made = call(*request, "create", {});
    if (!made) return made.error();
    name_ = kube::string_field(kube::child(*made, "metadata"), "name");
    uid_ = kube::string_field(kube::child(*made, "metadata"), "uid");
    return {};
  }

  Result<void> wait_for_start() {
    const Timestamp began = client_.clock().now();
    Timestamp told = began;
    for (;;) {
      const auto pod = get();
      if (!pod && !pod.error().is_retryable()) return pod.error();
      const ReaderState state = pod ? reader_state(*pod) : ReaderState{.why = pod.error().message()};
      if (state.phase == ReaderPhase::kStarted) return {};
      if (state.phase == ReaderPhase::kCannotRun)
        return Error(ErrorKind::kInvalid, shown() + ": " + state.why);
      const Timestamp now = client_.clock().now();
      if (now - began >= limits_.start_timeout)
        return Error(ErrorKind::kTimeout,
                     shown() + " did not start within " +
                         std::to_string(static_cast<int>(seconds(limits_.start_timeout))) +
                         " s: " + explain_wait(state, events()) + ". Wait longer with --timeout");
      if (now - told >= limits_.output_timeout) {
        told = now;
        print_error(shown() + " has not started yet: " + explain_wait(state, events()));
      }
      if (!pause_for(kPollInterval, stop_)) return interrupted_error();
    }
  }

  // Reads the log until its last line. If a stream is cut off, the next one begins after its newest line.
  Result<int> follow(const RelayedOutput::Take& take) {
    std::optional<Error> failure;  // of the output, not of the stream
    RelayedOutput output(take);
    LogLines lines([&](std::string_view line) {
      auto read = output.read(line);
      if (!read) failure = read.error();
      return read;
    });
    for (bool has_ended = false;;) {
      const auto request = kube::make_log_request(
          reference(), {.container = kReaderContainer, .is_followed = true, .since = lines.newest()});
      if (!request) return request.error();
      const http::Limits limits{.total = {}, .silence = limits_.output_timeout};
      const auto newest_before = lines.newest();
      const auto head = client_.api().stream(*request, limits, lines, stop_);
      if (stop_.stop_requested()) return interrupted_error();
      // A stream with new lines may have been cut off before the end of the log, also within a line: read
      // another stream, which repeats this line.
      has_ended = has_ended && lines.newest() == newest_before;
      if (head && has_ended && !failure) static_cast<void>(lines.end_stream());
      if (failure) return failure->with_context(shown());
      if (const auto code = output.exit_code()) return *code;
      if (auto checked = check_stream(head, lines); !checked) return checked.error();
      if (auto ended = look_at_end(has_ended); !ended) return ended.error();
      if (!pause_for(kPollInterval, stop_)) return interrupted_error();
    }
  }

  void remove() const {
    if (name_.empty()) return;
    const auto request = kube::remove(reference(), uid_, kDeletionGraceSeconds);
    std::optional<kube::ApiFailure> refusal;
    const auto removed = request ? client_.api().call(*request, {}, kTimeout, refusal) : request.error();
    if (removed || (refusal && refusal->status == kNotFound)) return;
    print_error(shown() + " cannot be deleted: " + removed.error().message() +
                "; delete it with kubectl delete pod " + name_ + " -n " + name_space());
  }

 private:
  [[nodiscard]] const std::string& name_space() const { return client_.query().name_space; }
  [[nodiscard]] std::string shown() const { return "the reader pod " + name_; }
  [[nodiscard]] kube::ObjectReference reference() const {
    return {.resource = kube::kPods, .name_space = name_space(), .name = name_};
  }

  [[nodiscard]] Result<json> call(const kube::ApiRequest& request, const std::string& verb,
                                  const std::stop_token& stop) const {
    std::optional<kube::ApiFailure> refusal;
    auto reply = client_.api().call(request, stop, kTimeout, refusal);
    if (reply) return reply;
    if (refusal && refusal->status == kNotFound)
      return Error(ErrorKind::kNotFound, "another client deleted " + shown() + ": repeat the command");
    return explain_pod_refusal(client_.query(), verb, "pods", reply.error(), refusal);
  }

  [[nodiscard]] Result<json> get() const {
    const auto request = kube::get(reference());
    if (!request) return request.error();
    auto pod = call(*request, "get", stop_);
    if (pod && kube::string_field(kube::child(*pod, "metadata"), "uid") != uid_)
      return Error(ErrorKind::kNotFound, "another client replaced " + shown() + ": repeat the command");
    return pod;
  }

  // Returns the events about the pod, or none if the user may not read events.
  [[nodiscard]] std::vector<json> events() const {
    const auto request = kube::list({.resource = kube::kCoreEvents,
                                     .name_space = name_space(),
                                     .field_selector = "involvedObject.uid=" + uid_},
                                    kEventsMax, "");
    const auto page = client_.api().call(request, stop_, kTimeout);
    if (!page) return {};
    const json& items = kube::items_of(*page, "items");
    return {items.begin(), items.end()};
  }

  // Returns an error if another try would fail, too. Otherwise stores the stream's error in log_error_.
  [[nodiscard]] Result<void> check_stream(const Result<http::ResponseHead>& head, const LogLines& lines) {
    log_error_.reset();
    if (!head && head.error().kind() == ErrorKind::kTimeout) {
      print_error(shown() + " has printed nothing for " +
                  std::to_string(static_cast<int>(seconds(limits_.output_timeout))) + " s and still reads");
      return {};
    }
    if (head && lines.status() == kHttpOk) return {};
    const auto refusal = kube::read_api_failure(lines.status(), lines.refusal(), "");
    if (head && lines.status() == kLogForbidden)
      return explain_pod_refusal(client_.query(), "get", "pods/log", refusal.error, refusal);
    log_error_ = head ? refusal.error : head.error();  // the container may not have a log yet
    return head || log_error_->is_retryable() ? Result<void>() : *log_error_;
  }

  // Returns an error if the pod has ended, but the log has no last line with an exit code. `has_ended` is
  // true if an earlier call saw the pod's end and the log that was read since had no new lines.
  [[nodiscard]] Result<void> look_at_end(bool& has_ended) const {
    const auto pod = get();
    if (!pod) return pod.error().is_retryable() ? Result<void>() : pod.error();
    if (has_ended && log_error_) return log_error_->with_context("reading the log of " + shown());
    if (has_ended)
      return Error(ErrorKind::kUnavailable, shown() + " did not finish: " + explain_early_end(*pod));
    const std::string phase = kube::string_field(kube::child(*pod, "status"), "phase");
    has_ended = phase == "Succeeded" || phase == "Failed";
    const ReaderState state = reader_state(*pod);
    if (state.phase == ReaderPhase::kCannotRun) return Error(ErrorKind::kInvalid, shown() + ": " + state.why);
    return {};
  }

  const JobClient& client_;
  const ReadingLimits limits_;
  const std::stop_token stop_;
  std::string name_;
  std::string uid_;
  std::optional<Error> log_error_;  // of the newest stream
};

}  // namespace

Result<int> read_in_pod(const JobClient& client, const json& pod, const ReadingLimits& limits,
                        const RelayedOutput::Take& take, const std::stop_token& stop) {
  ReaderPod reader(client, limits, stop);
  if (auto created = reader.create(pod); !created) return created.error();
  const auto started = reader.wait_for_start();
  auto read = started ? reader.follow(take) : Result<int>(started.error());
  reader.remove();
  return read;
}

}  // namespace ratoon::cli
