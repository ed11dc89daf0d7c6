#include "operator/runtime/operator.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include <malloc.h>

#include "base/contract/codec.h"
#include "base/core/log.h"
#include "base/core/random_name.h"
#include "base/http/server.h"
#include "base/http/url.h"
#include "operator/coordinator/coordinator.h"
#include "operator/runtime/cluster.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/door_certificate.h"
#include "operator/runtime/health_port.h"
#include "operator/runtime/leadership.h"
#include "operator/runtime/member_check.h"
#include "operator/runtime/metrics_page.h"
#include "operator/runtime/open_files.h"
#include "operator/runtime/operator_metrics.h"
#include "operator/runtime/porch.h"
#include "operator/runtime/self_metrics.h"
#include "operator/runtime/token_reviewer.h"
#include "operator/runtime/whereabouts.h"
#include "operator/runtime/work_queue.h"

namespace ratoon::runtime {
namespace {

constexpr int kDoorThreads = 4;
// Of so many namespaces all workers may wait for the API server, or for a webhook of theirs, at once.
constexpr int kNamespacesAtOnce = 4;
constexpr int kReviewThreads = 4;  // that ask again about tokens that are known
constexpr Duration kLook = std::chrono::milliseconds(20);
constexpr Duration kQueueIdle = std::chrono::seconds(1);
constexpr Duration kRecent = std::chrono::seconds(2);  // of lists

// Threads of the HTTP client take what they read from heaps of their own, and what a scrape of a thousand
// jobs took stays with the process: few heaps, and what is large goes back at once.
void hold_little_memory() {
  constexpr int kLargeBytes = 256 * 1024;
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  ::mallopt(M_TRIM_THRESHOLD, kLargeBytes);
}

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
        queue_(clock, kQueueIdle, options.workers),
        coordinator_(clock, {.authenticate =
                                 [this](std::string_view token, const ProcessIdentity& process) {
                                   return check_member(*tokens_, token, process);
                                 },
                             .on_news = [this](const JobKey& key) { queue_.add_now(key); }}) {}

  Result<void> run(const sigset_t& signals) {
    const auto url = find_members_url();
    if (!url) return url.error();
    if (auto taken = take_certificate(*url); !taken) return taken;
    if (auto open = open_health(); !open) return open;
    if (auto connected = connect(*url); !connected) return connected;
    logger_.info("waiting for the first lists of jobs, pods and nodes");
    while (!cluster_->is_synced()) {
      if (is_signalled(signals, kLook)) return {};
    }
    leadership_->begin();
    is_ready_ = true;
    const Timestamp synced = clock_.now();
    while (!leadership_->is_leading()) {
      if (leadership_->is_lost()) return lost_lease();
      if (is_signalled(signals, kLook)) return {};
    }
    // What one that stood by was told may be old: of a member's pod that it lacks it would think that it
    // vanished.
    if (clock_.now() - synced > kRecent) cluster_->list_again();
    return lead(*url, signals);
  }

 private:
  [[nodiscard]] Result<std::string> find_members_url() const {
    const std::string& told = options_.advertise_url;
    const bool is_tls = !options_.tls_folder.empty();
    if (told.empty()) return find_advertise_url(options_.environment, is_tls);
    if (!is_tls || told.starts_with("https://")) return told;
    return Error(ErrorKind::kInvalid, "members would call " + told +
                                          ", and with --tls-folder the door speaks TLS alone: let "
                                          "--advertise-url begin with https://");
  }

  Result<void> take_certificate(const std::string& url) {
    if (options_.tls_folder.empty()) return {};
    auto parsed = http::parse_url(url);
    if (!parsed) return parsed.error();
    const std::string& name = options_.tls_server_name;
    certificate_.emplace(
        clock_, logger_,
        DoorCertificateOptions{.folder = options_.tls_folder, .name = name.empty() ? parsed->host : name});
    auto taken = certificate_->take();
    certificate_ends_ = certificate_->ends().value_or(WallTime());
    return taken;
  }

  // A standby's may be old by the time at which it leads.
  void renew_certificate() {
    if (!certificate_ || !certificate_->has_changed()) return;
    certificate_ends_ = certificate_->ends().value_or(WallTime());
    cluster_->trust(certificate_->identity().ca_pem);
    if (!door_) return;
    if (const auto renewed = door_->renew(certificate_->identity().shown); !renewed)
      logger_.error("a renewed certificate cannot be served", {{"error", renewed.error().message()}});
  }

  Result<void> connect(const std::string& url) {
    auto access = find_access(options_.kubeconfig_path, options_.environment);
    if (!access) return access.error();
    const auto own_door = find_own_door(options_.environment);
    if (!own_door) return own_door.error();
    const auto count = [this](const ApiCall& call) { self_metrics_.note_call(call); };
    LeadershipOptions leading{.is_elected = options_.is_elected,
                              .lease_name = options_.lease_name,
                              .self = find_candidate(options_.environment, draw_name()),
                              .own_door = *own_door,
                              .port = options_.coordinator_port};
    leadership_ = std::make_unique<Leadership>(*access, clock_, logger_, count, std::move(leading));
    ClusterOptions options;
    options.name_space = options_.name_space;
    options.on_news = [this](const JobKey& key, Urgency urgency) { queue_.add_now(key, urgency); };
    options.settings.coordinator_url = url;
    if (certificate_) {
      options.settings.coordinator_ca = certificate_->identity().ca_pem;
      options.settings.coordinator_name = options_.tls_server_name;
    }
    options.reporter = options_.environment("HOSTNAME").value_or("ratoon-operator");
    options.on_call = count;
    options.fence = leadership_->fence();
    options.log = logger_;
    review_client_.emplace(*access, clock_, count, leadership_->fence());
    auto cluster = Cluster::connect(std::move(*access), clock_, std::move(options));
    if (!cluster) return cluster.error();
    cluster_ = std::move(*cluster);
    tokens_.emplace(*review_client_, clock_);
    for (int i = 0; i < kReviewThreads; ++i)
      reviewing_.emplace_back([this](const std::stop_token& stop) { tokens_->keep_fresh(stop); });
    return {};
  }

  // From here on the jobs are ours, until we are told to stop or the lease is lost.
  Result<void> lead(const std::string& url, const sigset_t& signals) {
    renew_certificate();
    if (auto open = open_door(); !open) return open;
    logger_.info("serving", {{"members_call", url}, {"jobs", cluster_->jobs().size()}});
    Controller controller(clock_, logger_, queue_, *cluster_, coordinator_, metrics_);
    std::jthread working;
    while (!leadership_->is_lost()) {
      renew_certificate();
      // Members who found a room open are expected to speak: the way here comes first.
      const bool is_found = leadership_->lead_members_here();
      if (is_found && cluster_->is_synced() && !working.joinable())
        working = std::jthread(
            [&](const std::stop_token& stop) { controller.run(stop, options_.workers * kNamespacesAtOnce); });
      if (!is_signalled(signals, kLook)) continue;
      logger_.info("stopping; members train on");
      is_ready_ = false;
      cluster_->end_calls();
      return {};
    }
    is_ready_ = false;
    cluster_->end_calls();
    door_.reset();  // first: members are to find the one who leads now
    return lost_lease();
  }

  [[nodiscard]] Error lost_lease() const {
    return {ErrorKind::kUnavailable, "the lease " + options_.lease_name +
                                         " could not be renewed in time, is another's or is older than it "
                                         "was: this operator ends and its pod starts it again, to stand by"};
  }

  Result<void> open_health() {
    auto server = http::HttpServer::start(
        options_of_health_port(options_.metrics_port),
        [this](const http::ServerRequest& request, http::Responder responder) {
          if (request.path == "/metrics") {
            metrics_page_.show(std::move(responder));
          } else if (request.path == "/healthz") {
            responder.send({.status = 200, .body = "ok\n"});
          } else if (request.path == "/readyz") {
            const std::string why = why_not_ready();
            responder.send({.status = why.empty() ? 200 : 503, .body = why.empty() ? "ok\n" : why + "\n"});
          } else {
            responder.send({.status = 404, .body = "/metrics, /healthz and /readyz are here\n"});
          }
        });
    if (!server) return server.error().with_context("opening the port for metrics");
    health_ = std::move(*server);
    return {};
  }

  // One that stands by is ready too: it could take over now.
  [[nodiscard]] std::string why_not_ready() const {
    if (!is_ready_) return "this operator waits for its first lists, or ends";
    if (!cluster_->is_fresh()) return "what is cached is too old";
    return leadership_->is_known() ? "" : "the lease could not be read for a while: nobody knows who leads";
  }

  [[nodiscard]] Vitals look() const {
    Vitals vitals{.backlog = queue_.backlog(), .load = coordinator_.load()};
    if (is_ready_) vitals.seconds_behind = cluster_->seconds_behind();
    vitals.is_leading = is_ready_ && leadership_->is_leading();
    if (const WallTime ends = certificate_ends_; ends != WallTime()) vitals.certificate_ends = ends;
    look_at_process(vitals);
    return vitals;
  }

  [[nodiscard]] std::optional<http::TlsServerOptions> shown() const {
    if (!certificate_) return std::nullopt;
    return certificate_->identity().shown;
  }

  void answer_member(const http::ServerRequest& request, http::Responder responder) {
    if (leadership_->is_leading()) return coordinator_.handle(request, std::move(responder));
    const Refusal refusal{.kind = names::refusal::kNotLeader, .message = "this operator no longer leads"};
    responder.send(
        {.status = 503, .headers = {{"Content-Type", "application/json"}}, .body = encode(refusal)});
  }

  Result<void> open_door() {
    PorchOptions porch{
        .is_known =
            [this](const http::ServerRequest& request) {
              return tokens_->knows(coordinator::bearer_token(request));
            },
        .answer = [this](const http::ServerRequest& request,
                         http::Responder responder) { answer_member(request, std::move(responder)); },
        .on_late = [this] { coordinator_.note_unread(); }};
    porch_.emplace(clock_, std::move(porch));
    const std::size_t connections_max = connections_of_members(open_files_);
    http::ServerOptions door{.address = http::kEveryAddress,
                             .port = options_.coordinator_port,
                             .tls = shown(),
                             .threads = kDoorThreads,
                             .connections_max = connections_max,
                             .strangers_max = std::min(kStrangersMax, connections_max / 2)};
    auto server = http::HttpServer::start(std::move(door),
                                          [this](http::ServerRequest request, http::Responder responder) {
                                            porch_->receive(std::move(request), std::move(responder));
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
  std::optional<DoorCertificate> certificate_;  // nothing: the door is plain HTTP
  std::atomic<WallTime> certificate_ends_;      // 1970: there is none; who asks for metrics reads it
  WorkQueue queue_;
  std::unique_ptr<Leadership> leadership_;  // before who writes: it gives the lease back when they are gone
  std::unique_ptr<Cluster> cluster_;
  std::optional<ApiClient> review_client_;
  std::optional<TokenReviewer> tokens_;
  std::vector<std::jthread> reviewing_;  // after the tokens
  coordinator::Coordinator coordinator_;
  std::atomic<bool> is_ready_{false};
  MetricsPage metrics_page_{[this](const MetricsPage::Sink& sink) {
    bool is_read = true;
    metrics_.write(clock_.wall_now(), [&](std::string_view piece) { return is_read = sink(piece); });
    if (is_read) sink(self_metrics_.text(look()));
  }};
  const std::size_t open_files_ = raise_open_files();
  std::optional<Porch> porch_;
  std::unique_ptr<http::HttpServer> health_;  // servers last: they stop before what they call is gone
  std::unique_ptr<http::HttpServer> door_;
};

}  // namespace

Result<void> run_operator(const OperatorOptions& options) {
  hold_little_memory();
  const sigset_t signals = block_signals();  // first: threads made later inherit it
  const SystemClock clock;
  return Operator(options, clock).run(signals);
}

}  // namespace ratoon::runtime
