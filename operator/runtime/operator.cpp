#include "operator/runtime/operator.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include <malloc.h>

#include "base/contract/codec.h"
#include "base/core/log.h"
#include "base/core/random_name.h"
#include "base/core/threads/mutex.h"
#include "base/http/server.h"
#include "base/http/url.h"
#include "operator/coordinator/coordinator.h"
#include "operator/runtime/api_server/discovery.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/jobs/cluster.h"
#include "operator/runtime/leader/leadership.h"
#include "operator/runtime/members/admission_queue.h"
#include "operator/runtime/members/member_check.h"
#include "operator/runtime/members/open_files.h"
#include "operator/runtime/members/secret_certificate.h"
#include "operator/runtime/members/serving_certificate.h"
#include "operator/runtime/members/token_reviewer.h"
#include "operator/runtime/metrics/metrics_page.h"
#include "operator/runtime/metrics/operator_metrics.h"
#include "operator/runtime/metrics/self_metrics.h"
#include "operator/runtime/metrics/status_ports.h"
#include "operator/runtime/notice_config.h"
#include "operator/runtime/scheduling/work_queue.h"

namespace ratoon::runtime {
namespace {

constexpr int kMemberServerThreads = 4;
// At most this many namespaces may have all their workers active at the same time.
constexpr int kActiveNamespaces = 4;
// The number of threads for each active worker. A worker whose call hangs does not count as active, and
// another thread takes its place.
constexpr int kThreadsPerWorker = 4;
constexpr int kReviewThreads = 4;  // they review known tokens again
constexpr Duration kSignalCheckInterval = std::chrono::milliseconds(20);
constexpr Duration kCertificateRetry = std::chrono::milliseconds(500);
constexpr Duration kQueueClockCheckInterval = std::chrono::seconds(1);
constexpr Duration kListAgeMax = std::chrono::seconds(2);  // the greatest age of a list

// Limits the number of glibc's heaps (arenas), and returns large blocks to the system at once. Otherwise each
// thread's heap would keep the memory that a scrape of 1000 jobs needed.
void limit_memory_arenas() {
  constexpr int kLargeBytes = 256 * 1024;
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  ::mallopt(M_TRIM_THRESHOLD, kLargeBytes);
}

// Slow jobs occupy at most half of each namespace's workers, and at most half of all workers.
WorkerLimits worker_limits_for(std::size_t each_max) {
  return {.per_namespace_max = each_max,
          .slow_max = each_max * kActiveNamespaces / 2,
          .slow_per_namespace_max = std::max<std::size_t>(1, each_max / 2),
          .active_max = each_max * kActiveNamespaces};
}

sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

bool is_signalled(const sigset_t& signals, Duration timeout) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{.tv_sec = whole.count(), .tv_nsec = (timeout - whole).count()};
  return ::sigtimedwait(&signals, nullptr, &limit) > 0;
}

// Stores why members cannot reach the leader, or an empty text if members can reach it. Threads that answer
// probes read the text concurrently.
class Reachability {
 public:
  void note(std::string problem) {
    const MutexLock lock(mutex_);
    problem_ = std::move(problem);
  }
  [[nodiscard]] std::string problem() const {
    const MutexLock lock(mutex_);
    return problem_;
  }

 private:
  mutable Mutex mutex_;
  std::string problem_ RATOON_GUARDED_BY(mutex_) = "members are not directed to this leader yet";
};

class Operator {
 public:
  Operator(const OperatorOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        logger_(clock, {.format = options.is_text_log ? LogFormat::kText : LogFormat::kJson}),
        queue_(clock, kQueueClockCheckInterval, worker_limits_for(options.workers)),
        coordinator_(clock, {.authenticate =
                                 [this](std::string_view token, const ProcessIdentity& process) {
                                   return check_member(*tokens_, token, process);
                                 },
                             .on_change = [this](const JobKey& key) { queue_.add_now(key); }}) {}

  Result<void> run(const sigset_t& signals) {
    const auto url = find_members_url();
    if (!url) return url.error();
    auto rules = read_notice_rules(options_.notices_path);
    if (!rules) return rules.error();
    notice_rules_ = std::move(*rules);
    if (auto taken = take_mounted_certificate(*url); !taken) return taken;
    if (auto open = open_status_ports(); !open) return open;
    if (auto connected = connect(*url); !connected) return connected;
    logger_.info("waiting for the first lists of jobs, pods and nodes");
    while (!cluster_->is_synced()) {
      if (is_signalled(signals, kSignalCheckInterval)) return {};
    }
    leadership_->begin();
    is_ready_ = true;
    const Timestamp synced = clock_.now();
    while (!leadership_->is_leading()) {
      renew_certificate();  // the metrics of a standby have its end, too
      if (leadership_->is_lost()) return lost_lease();
      if (is_signalled(signals, kSignalCheckInterval)) return {};
    }
    // If this operator stood by until now, its cached lists may be old. If an old list lacks a member's pod,
    // the pod would wrongly count as vanished.
    if (clock_.now() - synced > kListAgeMax) cluster_->relist();
    return lead(*url, signals);
  }

 private:
  [[nodiscard]] Result<std::string> find_members_url() const {
    const std::string& told = options_.advertise_url;
    if (told.empty()) return find_advertise_url(options_.environment, options_.is_tls());
    if (!options_.is_tls() || told.starts_with("https://")) return told;
    return Error(ErrorKind::kInvalid, "members would call " + told +
                                          ", but with --tls-folder or --tls-secret the operator serves only "
                                          "TLS: begin --advertise-url with https://");
  }

  // Returns the name that members expect in the certificate.
  [[nodiscard]] Result<std::string> find_server_name(const std::string& url) const {
    if (!options_.tls_server_name.empty()) return options_.tls_server_name;
    auto parsed = http::parse_url(url);
    if (!parsed) return parsed.error();
    return parsed->host;
  }

  Result<void> take_mounted_certificate(const std::string& url) {
    if (options_.tls_folder.empty()) return {};
    if (!options_.tls_secret.empty())
      return Error(ErrorKind::kInvalid,
                   "--tls-folder and --tls-secret are both set: the certificate comes from files, or the "
                   "operator makes it; remove one of these two options");
    auto name = find_server_name(url);
    if (!name) return name.error();
    certificate_ = std::make_unique<ServingCertificate>(
        clock_, logger_, ServingCertificateOptions{.folder = options_.tls_folder, .name = std::move(*name)});
    auto taken = certificate_->take();
    certificate_ends_ = certificate_->ends().value_or(WallTime());
    return taken;
  }

  // Only the leader may write the Secret, so the certificate is made when this operator leads.
  Result<void> make_certificate(const std::string& url, const sigset_t& signals) {
    if (options_.tls_secret.empty()) return {};
    auto name = find_server_name(url);
    if (!name) return name.error();
    certificate_ =
        std::make_unique<SecretCertificate>(*own_client_, clock_, logger_,
                                            SecretCertificateOptions{.name_space = own_client_->name_space(),
                                                                     .secret = options_.tls_secret,
                                                                     .name = std::move(*name),
                                                                     .reporter = reporter()});
    std::string problem;
    for (;;) {
      const auto taken = certificate_->take();
      if (taken) break;
      if (std::exchange(problem, taken.error().message()) != problem)
        logger_.error("members cannot connect: there is no certificate for them", {{"error", problem}});
      reach_.note("there is no certificate for members: " + problem);
      if (leadership_->is_lost()) return lost_lease();
      if (is_signalled(signals, kCertificateRetry)) return Error(ErrorKind::kCancelled, "told to stop");
    }
    certificate_ends_ = certificate_->ends().value_or(WallTime());
    cluster_->trust_coordinator_ca(certificate_->identity().ca_pem);
    return {};
  }

  [[nodiscard]] std::string reporter() const {
    return options_.environment("HOSTNAME").value_or("ratoon-operator");
  }

  // Reads the certificate again if its files have changed, and shows it to members that connect from now on.
  void renew_certificate() {
    if (!certificate_ || !certificate_->has_changed()) return;
    certificate_ends_ = certificate_->ends().value_or(WallTime());
    cluster_->trust_coordinator_ca(certificate_->identity().ca_pem);
    if (!member_server_) return;
    if (const auto renewed = member_server_->renew(certificate_->identity().shown); !renewed)
      logger_.error("a renewed certificate cannot be served", {{"error", renewed.error().message()}});
  }

  Result<void> connect(const std::string& url) {
    auto access = find_api_server_access(options_.kubeconfig_path, options_.environment);
    if (!access) return access.error();
    const auto own_endpoint = find_own_endpoint(options_.environment);
    if (!own_endpoint) return own_endpoint.error();
    const auto count = [this](const ApiCall& call) { self_metrics_.note_call(call); };
    LeadershipOptions leading{.uses_election = options_.uses_election,
                              .lease_name = options_.lease_name,
                              .times = options_.election_times,
                              .self = make_election_candidate(options_.environment, random_hex_name()),
                              .own_endpoint = *own_endpoint,
                              .port = options_.coordinator_port};
    leadership_ = std::make_unique<Leadership>(*access, clock_, logger_, count, std::move(leading));
    ClusterOptions options;
    options.name_space = options_.name_space;
    options.on_change = [this](const JobKey& key, Urgency urgency) { queue_.add_now(key, urgency); };
    options.node_facts = core::fact_keys_of(notice_rules_);
    options.settings.coordinator_url = url;
    if (certificate_) options.settings.coordinator_ca = certificate_->identity().ca_pem;
    if (options_.is_tls()) options.settings.coordinator_name = options_.tls_server_name;
    options.settings.launcher_image = options_.launcher_image;
    options.settings.launcher_pull_policy = options_.launcher_pull_policy;
    options.reporter = reporter();
    options.on_call = count;
    options.fence = leadership_->fence();
    options.log = logger_;
    own_client_.emplace(*access, clock_, count, leadership_->fence());
    auto cluster = Cluster::connect(std::move(*access), clock_, std::move(options));
    if (!cluster) return cluster.error();
    cluster_ = std::move(*cluster);
    tokens_.emplace(*own_client_, clock_);
    for (int i = 0; i < kReviewThreads; ++i)
      reviewing_.emplace_back([this](const std::stop_token& stop) { tokens_->keep_fresh(stop); });
    return {};
  }

  // Runs the jobs as the leader, until a signal stops this operator or it loses the lease.
  Result<void> lead(const std::string& url, const sigset_t& signals) {
    if (const auto made = make_certificate(url, signals); !made)
      return made.error().kind() == ErrorKind::kCancelled ? Result<void>() : made;
    renew_certificate();
    if (auto open = open_member_server(); !open) return open;
    logger_.info("serving", {{"members_call", url}, {"jobs", cluster_->jobs().size()}});
    Controller controller(clock_, logger_, queue_, *cluster_, coordinator_, metrics_, notice_rules_,
                          options_.processes_per_namespace,
                          options_.environment("RATOON_OPERATOR_IMAGE").value_or(""));
    std::jthread working;
    while (!leadership_->is_lost()) {
      renew_certificate();
      // Publish the endpoint first: members of a served job must be able to send heartbeats at once.
      const bool is_found = leadership_->publish_endpoint();
      reach_.note(leadership_->endpoint_problem());
      if (is_found && cluster_->is_synced() && !working.joinable())
        working = std::jthread([&](const std::stop_token& stop) {
          controller.run(stop, options_.workers * kActiveNamespaces * kThreadsPerWorker);
        });
      if (!is_signalled(signals, kSignalCheckInterval)) continue;
      logger_.info("stopping; members continue to train");
      is_ready_ = false;
      cluster_->end_calls();
      return {};
    }
    is_ready_ = false;
    cluster_->end_calls();
    member_server_.reset();  // closed first, so that members find the new leader
    return lost_lease();
  }

  [[nodiscard]] Error lost_lease() const {
    return {ErrorKind::kUnavailable,
            "the lease " + options_.lease_name +
                " could not be renewed in time, has another holder or is older "
                "than before: this operator exits, and its pod restarts it as a standby"};
  }

  Result<void> open_status_ports() {
    auto metrics =
        http::HttpServer::start(options_of_metrics_port(options_.metrics_port),
                                [this](const http::ServerRequest& request, http::Responder responder) {
                                  if (request.path == "/metrics")
                                    return metrics_page_.show(request.peer, std::move(responder));
                                  responder.send({.status = 404, .body = "this port serves only /metrics\n"});
                                });
    if (!metrics) return metrics.error().with_context("opening the port for metrics");
    metrics_server_ = std::move(*metrics);
    auto probes = open_probe_port(options_.probe_port, [this] { return why_not_ready(); });
    if (!probes) return probes.error();
    probe_server_ = std::move(*probes);
    return {};
  }

  // Returns why /readyz fails, or an empty text. A standby is also ready, because it can lead at once.
  [[nodiscard]] std::string why_not_ready() const {
    if (!is_ready_)
      return "this operator waits for its first lists of jobs, pods and nodes, or is shutting down";
    if (!cluster_->is_fresh()) return "the cached objects are too old";
    if (!leadership_->is_known()) return "the lease could not be read for a while: the leader is unknown";
    return leadership_->is_leading() ? reach_.problem() : "";
  }

  [[nodiscard]] OperatorVitals look() const {
    OperatorVitals vitals{.backlog = queue_.backlog(), .load = coordinator_.load()};
    if (is_ready_) vitals.seconds_behind = cluster_->seconds_behind();
    vitals.is_leading = is_ready_ && leadership_->is_leading();
    if (const WallTime ends = certificate_ends_; ends != WallTime()) vitals.certificate_expires_at = ends;
    measure_process(vitals);
    return vitals;
  }

  [[nodiscard]] std::optional<http::TlsServerOptions> shown() const {
    return certificate_ ? std::optional(certificate_->identity().shown) : std::nullopt;
  }

  void answer_member(const http::ServerRequest& request, http::Responder responder) {
    if (leadership_->is_leading()) return coordinator_.handle(request, std::move(responder));
    const Refusal refusal{.kind = names::refusal::kNotLeader, .message = "this operator no longer leads"};
    responder.send(
        {.status = 503, .headers = {{"Content-Type", "application/json"}}, .body = encode(refusal)});
  }

  Result<void> open_member_server() {
    AdmissionQueueOptions queue_options{
        .is_known =
            [this](const http::ServerRequest& request) {
              return tokens_->knows(coordinator::bearer_token(request));
            },
        .answer = [this](const http::ServerRequest& request,
                         http::Responder responder) { answer_member(request, std::move(responder)); },
        .on_late = [this] { coordinator_.note_discarded_messages(); }};
    admission_queue_.emplace(clock_, std::move(queue_options));
    const MemberConnections connections = connections_of_members(open_files_);
    http::ServerOptions server_options{.address = http::kEveryAddress,
                                       .port = options_.coordinator_port,
                                       .tls = shown(),
                                       .threads = kMemberServerThreads,
                                       .connections_max = connections.all,
                                       .unauthenticated_connections_max = std::min(
                                           kUnauthenticatedConnectionsMax, connections.each_namespace / 2),
                                       .tenant_connections_max = connections.each_namespace};
    auto server = http::HttpServer::start(
        std::move(server_options), [this](http::ServerRequest request, http::Responder responder) {
          admission_queue_->receive(std::move(request), std::move(responder));
        });
    if (!server) return server.error().with_context("opening the port for members");
    member_server_ = std::move(*server);
    return {};
  }

  const OperatorOptions options_;
  const Clock& clock_;
  const Logger logger_;
  core::NoticeRules notice_rules_;
  OperatorMetrics metrics_;
  SelfMetrics self_metrics_;
  std::unique_ptr<CertificateSource> certificate_;  // null: plain HTTP, or not made yet
  std::atomic<WallTime> certificate_ends_;          // 1970: there is none; the metrics read it
  Reachability reach_;
  WorkQueue queue_;
  std::unique_ptr<Leadership> leadership_;  // destroyed after all writers: then it gives the lease back
  std::unique_ptr<Cluster> cluster_;
  std::optional<ApiClient> own_client_;  // for reviews of tokens and the certificate
  std::optional<TokenReviewer> tokens_;
  std::vector<std::jthread> reviewing_;  // after tokens_, which they use
  coordinator::Coordinator coordinator_;
  std::atomic<bool> is_ready_{false};
  MetricsPage metrics_page_{[this](const MetricsPage::Sink& sink) {
    bool is_read = true;
    metrics_.write(clock_.wall_now(), [&](std::string_view piece) { return is_read = sink(piece); });
    if (is_read) sink(self_metrics_.text(look()));
  }};
  const std::size_t open_files_ = raise_open_file_limit();
  std::optional<AdmissionQueue> admission_queue_;
  std::unique_ptr<http::HttpServer> metrics_server_;  // servers last: they stop before the parts they call
  std::unique_ptr<http::HttpServer> probe_server_;
  std::unique_ptr<http::HttpServer> member_server_;
};

}  // namespace

Result<void> run_operator(const OperatorOptions& options) {
  limit_memory_arenas();
  const sigset_t signals = block_signals();  // first, since later threads inherit it
  const SystemClock clock;
  return Operator(options, clock).run(signals);
}

}  // namespace ratoon::runtime
