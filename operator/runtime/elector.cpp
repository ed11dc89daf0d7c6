#include "operator/runtime/elector.h"

#include <algorithm>

#include "base/core/pause.h"

namespace ratoon::runtime {
namespace {

using kube::Move;

constexpr Duration kClaimTimeout =
    std::chrono::milliseconds(1500);  // two claims fit before a leader must end
constexpr Duration kDoubtPause = std::chrono::milliseconds(200);

}  // namespace

Elector::Elector(const ApiClient& client, const Clock& clock, Logger log, Fence& fence,
                 ElectorOptions options)
    : client_(client),
      clock_(clock),
      log_(std::move(log)),
      fence_(fence),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Elector::~Elector() {
  thread_.request_stop();
  thread_.join();
  fence_.close();
  give_back();
}

bool Elector::is_known() const {
  return is_leading() || (read_.load() != Timestamp{} && clock_.now() - read_.load() < options_.times.lease);
}

void Elector::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && turn(stop)) {
    const bool is_urgent = is_in_doubt_ && view_.renewed;  // a leader has little time
    static_cast<void>(
        pause_for(is_urgent ? std::min(kDoubtPause, options_.times.retry) : options_.times.retry, stop));
  }
}

bool Elector::turn(const std::stop_token& stop) {
  if (is_in_doubt_ || !view_.renewed) read(stop);
  const WallTime wall = clock_.wall_now();
  const Duration duration = options_.times.lease;
  const std::string& identity = options_.self.identity;
  switch (kube::choose_move(view_, options_.self, clock_.now(), options_.times)) {
    case Move::kWait:
      return true;
    case Move::kCreate:
      claim(kube::create(target(), kube::make_lease(options_.name, identity, duration, wall)), stop);
      return true;
    case Move::kTake:
      claim(kube::merge_patch(target(), kube::take_lease(*view_.lease, identity, duration, wall)), stop);
      return true;
    case Move::kRenew:
      claim(kube::merge_patch(target(), kube::renew_lease(*view_.lease, wall)), stop);
      return true;
    case Move::kStepDown:
      break;
  }
  fence_.close();
  is_over_ = true;
  if (view_.is_set_back) {
    log_.error("the API server's store was set back, as to a backup: all of it has to be read anew",
               {{"lease", options_.name}, {"newest_version", view_.newest}});
    return false;
  }
  const std::string holder = view_.lease ? view_.lease->holder : std::string();
  log_.error("this operator leads no more", {{"lease", options_.name}, {"holder", holder}});
  return false;
}

void Elector::read(const std::stop_token& stop) {
  const auto found = client_.call(kube::get(target()), stop, patience());
  const bool is_absent = !found && found.error().kind() == ErrorKind::kNotFound;
  if (!found && !is_absent) {
    if (!stop.stop_requested())
      log_.warning("the lease cannot be read", {{"error", found.error().message()}});
    return;
  }
  const Timestamp now = clock_.now();  // after the answer: what it tells is not younger
  view_.note_read(found ? std::optional(kube::read_lease(*found)) : std::nullopt, now);
  read_ = now;
  is_in_doubt_ = false;
}

void Elector::claim(const Result<kube::Request>& request, const std::stop_token& stop) {
  const Timestamp sent = clock_.now();  // before the call: what it proves is not younger
  const auto made = client_.call(request, stop, patience());
  if (!made) {
    is_in_doubt_ = true;  // another wrote it, or we did and the answer was lost
    if (view_.renewed && !stop.stop_requested())
      log_.warning("the lease was not renewed", {{"error", made.error().message()}});
    return;
  }
  if (!view_.renewed)
    log_.info("this operator leads", {{"lease", options_.name}, {"as", options_.self.identity}});
  view_.note_claimed(kube::read_lease(*made), sent, clock_.now());
  fence_.open_until(sent + options_.times.renew);
  was_leading_ = true;
}

void Elector::give_back() {
  const bool is_ours =
      view_.renewed && !is_over_ && view_.lease && view_.lease->holder == options_.self.identity;
  if (!is_ours) return;
  const auto request = kube::merge_patch(target(), kube::give_back_lease(*view_.lease, clock_.wall_now()));
  if (const auto done = client_.call(request, {}, kClaimTimeout); !done)
    log_.warning("the lease is not given back; it ends by itself", {{"error", done.error().message()}});
}

kube::Target Elector::target() const {
  return {.resource = kube::kLeases, .name_space = options_.name_space, .name = options_.name};
}

// A leader's call is not to outlast its time.
Duration Elector::patience() const {
  constexpr Duration kMin = std::chrono::milliseconds(100);
  if (!view_.renewed) return kClaimTimeout;
  return std::clamp(*view_.renewed + options_.times.renew - clock_.now(), kMin, kClaimTimeout);
}

}  // namespace ratoon::runtime
