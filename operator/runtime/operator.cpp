#include "operator/runtime/operator.h"

#include <atomic>
#include <csignal>
#include <thread>

#include "base/core/log.h"
#include "base/http/server.h"
#include "operator/coordinator/coordinator.h"
#include "operator/runtime/cluster.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/member_check.h"
#include "operator/runtime/operator_metrics.h"
#include "operator/runtime/self_metrics.h"
#include "operator/runtime/whereabouts.h"
#include "operator/runtime/work_queue.h"

namespace ratoon::runtime {
namespace {

constexpr int kDoorThreads = 4;  // a token that is not known yet is shown to the API server in one of them
constexpr Duration kSyncLook = std::chrono::milliseconds(20);

sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

bool is_signalled(const sigset_t& signals, Duration patience) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec limit{.tv_sec = whole.count(), .tv_nsec = (patience - whole).count()};
  return ::sigtimedwait(&signals, nullptr, &limit) > 0;
}

class Operator {
 public:
  Operator(const OperatorOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        logger_(clock, {.format = options.is_text_log ? LogFormat::kText : LogFormat::kJson}),
        queue_(clock),
        coordinator_(clock, {.authenticate =
                                 [this](std::string_view token, const ProcessIdentity& process) {
                                   return check_member(*cluster_, token, process);
                                 },
                             .on_news = [this](const JobKey& key) { queue_.add_now(key); }}) {}

  Result<void> run(const sigset_t& signals) {
    const auto url = options_.advertise_url.empty() ? find_advertise_url(options_.environment)
                                                    : Result<std::string>(options_.advertise_url);
    if (!url) return url.error();
    if (auto open = open_health(); !open) return open;
    auto cluster = connect(*url);
    if (!cluster) return cluster.error();
    cluster_ = std::move(*cluster);
    logger_.info("waiting for the first lists of jobs, pods and nodes");
    while (!cluster_->is_synced()) {
      if (is_signalled(signals, kSyncLook)) return {};
    }
    if (auto open = open_door(); !open) return open;
    is_ready_ = true;
    logger_.info("serving", {{"members_call", *url}, {"jobs", cluster_->jobs().size()}});
    Controller controller(clock_, logger_, queue_, *cluster_, coordinator_, metrics_);
    const std::jthread working([&](const std::stop_token& stop) { controller.run(stop); });
    while (!is_signalled(signals, std::chrono::hours(1))) {
    }
    logger_.info("stopping; members train on");
    is_ready_ = false;
    return {};
  }

 private:
  Result<std::unique_ptr<Cluster>> connect(const std::string& url) {
    auto access = find_access(options_.kubeconfig_path, options_.environment);
    if (!access) return access.error();
    ClusterOptions options;
    options.name_space = options_.name_space;
    options.on_news = [this](const JobKey& key) { queue_.add_now(key); };
    options.settings.coordinator_url = url;
    options.reporter = options_.environment("HOSTNAME").value_or("ratoon-operator");
    options.on_call = [this](const ApiCall& call) { self_metrics_.note_call(call); };
    options.log = logger_;
    return Cluster::connect(std::move(*access), clock_, std::move(options));
  }

  Result<void> open_health() {
    auto server = http::HttpServer::start(
        {.address = "0.0.0.0", .port = options_.metrics_port},
        [this](const http::ServerRequest& request, http::Responder responder) {
          if (request.path == "/metrics") {
            responder.send({.status = 200,
                            .headers = {{"Content-Type", "text/plain; version=0.0.4"}},
                            .body = metrics_.text() + self_metrics_.text(look())});
          } else if (request.path == "/healthz") {
            responder.send({.status = 200, .body = "ok\n"});
          } else if (request.path == "/readyz") {
            const bool is_ready = is_ready_ && cluster_->is_fresh();
            responder.send(is_ready ? http::Response{.status = 200, .body = "ok\n"}
                                    : http::Response{.status = 503, .body = "what is cached is too old\n"});
          } else {
            responder.send({.status = 404, .body = "/metrics, /healthz and /readyz are here\n"});
          }
        });
    if (!server) return server.error().with_context("opening the port for metrics");
    health_ = std::move(*server);
    return {};
  }

  [[nodiscard]] Vitals look() const {
    Vitals vitals{.backlog = queue_.backlog(), .load = coordinator_.load()};
    if (is_ready_) vitals.seconds_behind = cluster_->seconds_behind();
    look_at_process(vitals);
    return vitals;
  }

  Result<void> open_door() {
    auto server = http::HttpServer::start(
        {.address = "0.0.0.0", .port = options_.coordinator_port, .threads = kDoorThreads},
        [this](http::ServerRequest request, http::Responder responder) {
          coordinator_.handle(request, std::move(responder));
        });
    if (!server) return server.error().with_context("opening the port for members");
    door_ = std::move(*server);
    return {};
  }

  const OperatorOptions options_;
  const Clock& clock_;
  const Logger logger_;
  OperatorMetrics metrics_;
  SelfMetrics self_metrics_;
  WorkQueue queue_;
  std::unique_ptr<Cluster> cluster_;
  coordinator::Coordinator coordinator_;
  std::atomic<bool> is_ready_{false};
  std::unique_ptr<http::HttpServer> health_;  // servers last: they stop before what they call is gone
  std::unique_ptr<http::HttpServer> door_;
};

}  // namespace

Result<void> run_operator(const OperatorOptions& options) {
  const sigset_t signals = block_signals();  // first: threads made later inherit it
  const SystemClock clock;
  return Operator(options, clock).run(signals);
}

}  // namespace ratoon::runtime
