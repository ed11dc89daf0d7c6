#include "operator/runtime/leader/elector.h"

#include <algorithm>

#include "base/core/threads/pause.h"

namespace ratoon::runtime {
namespace {

using kube::ElectionAction;

// The timeout of a claim. It is short, so that a leader can try a second claim before it must step down.
constexpr Duration kClaimTimeout = std::chrono::milliseconds(1500);
constexpr Duration kRereadPause = std::chrono::milliseconds(200);

}  // namespace

Election::Election(const Clock& clock, Logger log, Fence& fence, ElectorOptions options)
    : clock_(clock), log_(std::move(log)), fence_(fence), options_(std::move(options)) {}

bool Election::is_known() const {
  return is_leading() ||
         (last_read_at_.load() != Timestamp{} && clock_.now() - last_read_at_.load() < options_.times.lease);
}

Election::Step Election::next() {
  if (is_over_) return {.is_over = true};
  if (stage_ == Stage::kHasClaimed) return pause();
  if (stage_ == Stage::kHasRead || (view_.renewed && !must_read_lease_)) return move();
  stage_ = Stage::kReads;
  return {.call = kube::get(target()), .time = timeout()};
}

Election::Step Election::move() {
  const WallTime wall = clock_.wall_now();
  const Duration duration = options_.times.lease;
  const std::string& identity = options_.self.identity;
  switch (kube::choose_election_action(view_, options_.self, clock_.now(), options_.times)) {
    case ElectionAction::kWait:
      return pause();
    case ElectionAction::kCreate:
      return claim(kube::create(target(), kube::make_lease(options_.name, identity, duration, wall)));
    case ElectionAction::kTake:
      return claim(kube::make_patch_request(
          target(), kube::make_lease_acquire_patch(*view_.lease, identity, duration, wall)));
    case ElectionAction::kRenew:
      return claim(kube::make_patch_request(target(), kube::make_lease_renew_patch(*view_.lease, wall)));
    case ElectionAction::kStepDown:
      break;
  }
  return step_down();
}

Election::Step Election::claim(const Result<kube::ApiRequest>& request) {
  stage_ = Stage::kClaims;
  claim_sent_at_ = clock_.now();  // before the call, so that the claim is at least as old as this
  return {.call = request, .time = timeout()};
}

Election::Step Election::pause() {
  stage_ = Stage::kBegins;
  const bool is_urgent = must_read_lease_ && view_.renewed;  // a leader has little time to renew
  return {.time = is_urgent ? std::min(kRereadPause, options_.times.retry) : options_.times.retry};
}

Election::Step Election::step_down() {
  fence_.close();
  is_over_ = true;
  if (view_.is_server_restored) {
    log_.error("the API server's store was restored to an older state: all objects must be read again",
               {{"lease", options_.name}, {"newest_version", view_.newest}});
    return {.is_over = true};
  }
  const std::string holder = view_.lease ? view_.lease->holder : std::string();
  log_.error("this operator no longer leads", {{"lease", options_.name}, {"holder", holder}});
  return {.is_over = true};
}

void Election::note(const Result<nlohmann::json>& answer) {
  if (stage_ == Stage::kReads) return process_read_reply(answer);
  if (stage_ == Stage::kClaims) process_claim_reply(answer);
}

void Election::process_read_reply(const Result<nlohmann::json>& answer) {
  stage_ = Stage::kHasRead;
  const bool is_absent = !answer && answer.error().kind() == ErrorKind::kNotFound;
  if (!answer && !is_absent) {
    if (answer.error().kind() != ErrorKind::kCancelled)
      log_.warning("the lease cannot be read", {{"error", answer.error().message()}});
    return;
  }
  const Timestamp now = clock_.now();  // after the answer, so that the read is at least as old as this
  view_.note_read(answer ? std::optional(kube::read_lease(*answer)) : std::nullopt, now);
  last_read_at_ = now;
  must_read_lease_ = false;
}

void Election::process_claim_reply(const Result<nlohmann::json>& answer) {
  stage_ = Stage::kHasClaimed;
  if (!answer) {
    must_read_lease_ = true;  // another operator wrote it, or we did and the answer was lost
    if (view_.renewed && answer.error().kind() != ErrorKind::kCancelled)
      log_.warning("the lease was not renewed", {{"error", answer.error().message()}});
    return;
  }
  if (!view_.renewed)
    log_.info("this operator leads", {{"lease", options_.name}, {"as", options_.self.identity}});
  view_.note_own_write(kube::read_lease(*answer), claim_sent_at_, clock_.now());
  fence_.open_until(claim_sent_at_ + options_.times.renew);
  was_leading_ = true;
}

std::optional<Result<kube::ApiRequest>> Election::give_back() const {
  const bool is_ours =
      view_.renewed && !is_over_ && view_.lease && view_.lease->holder == options_.self.identity;
  if (!is_ours) return std::nullopt;
  return kube::make_patch_request(target(), kube::make_lease_release_patch(*view_.lease, clock_.wall_now()));
}

kube::ObjectReference Election::target() const {
  return {.resource = kube::kLeases, .name_space = options_.name_space, .name = options_.name};
}

// Returns the timeout of a call: a leader's call must not last longer than its leadership.
Duration Election::timeout() const {
  constexpr Duration kMin = std::chrono::milliseconds(100);
  if (!view_.renewed) return kClaimTimeout;
  return std::clamp(*view_.renewed + options_.times.renew - clock_.now(), kMin, kClaimTimeout);
}

Elector::Elector(const ApiClient& client, const Clock& clock, const Logger& log, Fence& fence,
                 ElectorOptions options)
    : client_(client),
      log_(log),
      fence_(fence),
      election_(clock, log, fence, std::move(options)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Elector::~Elector() {
  thread_.request_stop();
  thread_.join();
  fence_.close();
  const auto request = election_.give_back();
  if (!request) return;
  if (const auto done = client_.call(*request, {}, kClaimTimeout); !done)
    log_.warning("the lease is not given back; it expires by itself", {{"error", done.error().message()}});
}

void Elector::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Election::Step step = election_.next();
    if (step.is_over) return;
    if (step.call)
      election_.note(client_.call(*step.call, stop, step.time));
    else
      static_cast<void>(pause_for(step.time, stop));
  }
}

}  // namespace ratoon::runtime
