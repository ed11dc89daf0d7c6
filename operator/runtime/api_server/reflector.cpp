#include "operator/runtime/api_server/reflector.h"

#include <algorithm>
#include <utility>

#include "base/core/threads/pause.h"
#include "operator/kube/api_failure.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/metadata.h"
#include "operator/runtime/api_server/list_objects.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

constexpr std::size_t kErrorReplyBytesMax = 64 * 1024;
constexpr Duration kListTimeout = std::chrono::seconds(30);
constexpr Duration kRetryAfterMax = std::chrono::seconds(60);

std::string version_of(const json& object) {
  return kube::string_field(kube::child(object, "metadata"), "resourceVersion");
}

}  // namespace

// Receives the reply to a watch request: a stream of events, or a refusal.
class Reflector::WatchSink final : public http::BodySink {
 public:
  explicit WatchSink(Reflector& owner) : owner_(owner) {}

  Result<void> on_head(const http::ResponseHead& head) override {
    status_ = head.status;
    retry_after_ = head.headers.get("Retry-After");
    if (is_accepted()) owner_.note_contact();
    return {};
  }

  Result<void> on_bytes(std::string_view bytes) override {
    if (!is_accepted()) {
      refusal_ += bytes.substr(0, kErrorReplyBytesMax - std::min(kErrorReplyBytesMax, refusal_.size()));
      return {};
    }
    Result<void> taken;
    decoder_.feed(bytes, [&](kube::WatchEvent event) {
      if (taken) taken = owner_.apply_event(event);
    });
    return taken;
  }

  [[nodiscard]] bool is_accepted() const { return status_ == 200; }
  [[nodiscard]] kube::ApiFailure failure() const {
    return kube::read_api_failure(status_, refusal_, retry_after_);
  }

 private:
  Reflector& owner_;
  int status_ = 0;
  std::string refusal_;
  std::string retry_after_;
  kube::WatchDecoder decoder_;
};

Reflector::Reflector(const ApiClient& client, KubeObjectSink& sink, const Clock& clock,
                     ReflectorOptions options, Logger log)
    : client_(client),
      sink_(sink),
      clock_(clock),
      options_(std::move(options)),
      log_(std::move(log)),
      last_contact_at_(clock.now()) {}

void Reflector::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) static_cast<void>(pause_for(step(stop), stop));
  });
}

std::optional<Timestamp> Reflector::behind_since() const {
  const MutexLock lock(mutex_);
  const Duration watch_max = std::chrono::seconds(options_.watch_seconds) * 2 + options_.watch_timeout_margin;
  if (is_failing_ || clock_.now() - last_contact_at_ > watch_max) return last_contact_at_;
  return std::nullopt;
}

std::optional<Error> Reflector::trouble() const {
  const MutexLock lock(mutex_);
  return last_error_;
}

void Reflector::note_contact() {
  const MutexLock lock(mutex_);
  last_contact_at_ = clock_.now();
  is_failing_ = false;
  last_error_.reset();
}

Duration Reflector::next_pause() {
  pause_ = std::clamp(pause_ * 2, options_.pause_min, options_.pause_max);
  return from_seconds(seconds(pause_) * (0.5 + options_.draw() / 2));
}

void Reflector::relist() {
  is_relist_requested_ = true;
  is_synced_ = false;
  const MutexLock lock(mutex_);
  step_stop_.request_stop();
}

Result<void> Reflector::list_or_watch(const std::stop_token& stop) {
  std::stop_source own;
  {
    const MutexLock lock(mutex_);
    step_stop_ = own;
    if (is_relist_requested_.exchange(false)) resource_version_.clear();
  }
  const std::stop_callback passed_on(stop, [&own] { own.request_stop(); });
  return resource_version_.empty() ? list_all(own.get_token()) : watch_once(own.get_token());
}

Duration Reflector::step(const std::stop_token& stop) {
  const Duration pause_before = pause_;
  server_pause_ = Duration::zero();
  const Result<void> done = list_or_watch(stop);
  if (done || stop.stop_requested() || is_relist_requested_) return Duration::zero();
  {
    const MutexLock lock(mutex_);
    is_failing_ = true;
    last_error_ = done.error();
  }
  // If the watch's version has expired, list again without a pause, unless the previous step failed too.
  const bool was_expired = resource_version_.empty() && done.error().kind() == ErrorKind::kConflict;
  const Duration pause = was_expired && pause_before == Duration::zero()
                             ? Duration::zero()
                             : std::max(next_pause(), std::min(server_pause_, kRetryAfterMax));
  if (was_expired && pause == Duration::zero()) pause_ = options_.pause_min;
  log_.warning("the cache of the API server's objects is out of date",
               {{"resource", options_.selection.resource.plural},
                {"reason", done.error().message()},
                {"pause_seconds", seconds(pause)}});
  return pause;
}

Result<void> Reflector::list_all(const std::stop_token& stop) {
  sink_.begin_list();
  std::optional<kube::ApiFailure> refusal;
  auto version = list_objects(
      client_,
      {.selection = options_.selection, .page_timeout = kListTimeout, .page_items = options_.page_items},
      [&](const json& object) { sink_.list_object(object); }, stop, refusal);
  if (refusal) server_pause_ = refusal->requested_retry_delay().value_or(Duration::zero());
  const std::string plural(options_.selection.resource.plural);
  if (!version) return version.error().with_context("listing " + plural);
  if (version->empty())
    return Error(ErrorKind::kInvalid, "a list of " + plural + " has no resourceVersion: " + client_.server() +
                                          " is not an API server");
  sink_.end_list(*version);
  resource_version_ = *std::move(version);
  // Do not reset pause_ here, because a list without a working watch is no progress. The watch resets it.
  note_contact();
  is_synced_ = !is_relist_requested_;
  return {};
}

Result<void> Reflector::watch_once(const std::stop_token& stop) {
  const auto watch_seconds =
      static_cast<std::uint32_t>(static_cast<double>(options_.watch_seconds) * (1 + options_.draw() / 2));
  const auto request = kube::watch(options_.selection, resource_version_, std::max(1U, watch_seconds));
  if (!request) return request.error();
  const Duration deadline = std::chrono::seconds(std::max(1U, watch_seconds)) + options_.watch_timeout_margin;
  constexpr Duration kShortest = std::chrono::milliseconds(500);  // a working watch lasts longer
  const Timestamp began = clock_.now();
  const std::uint64_t events_before = events_received_;
  WatchSink sink(*this);
  const auto ended = client_.stream(*request, {.total = deadline, .silence = deadline}, sink, stop);
  if (!ended)
    return ended.error().with_context("watching " + std::string(options_.selection.resource.plural));
  if (sink.is_accepted()) {
    note_contact();
    if (events_received_ == events_before && clock_.now() - began < kShortest)
      return Error(ErrorKind::kUnavailable, "the API server ends each watch as soon as it begins");
    pause_ = Duration::zero();
    return {};
  }
  const auto failure = sink.failure();
  if (failure.is_expired()) resource_version_.clear();
  server_pause_ = failure.requested_retry_delay().value_or(Duration::zero());
  return failure.error;
}

// Returns whether this event was received before: if a stream repeats events, they must not restore deleted
// objects. A resource version that is not a number is not compared with other versions.
bool Reflector::was_received_before(const std::string& version) const {
  const auto number = kube::parse_version(version);
  return number != 0 && number <= kube::parse_version(resource_version_);
}

Result<void> Reflector::apply_event(const kube::WatchEvent& event) {
  const bool is_change = event.kind == kube::WatchEventKind::kAdded ||
                         event.kind == kube::WatchEventKind::kModified ||
                         event.kind == kube::WatchEventKind::kDeleted;
  if (is_change && was_received_before(version_of(event.object))) return {};
  switch (event.kind) {
    case kube::WatchEventKind::kError: {
      const auto failure = kube::read_api_failure(event.object);
      if (failure.is_expired()) resource_version_.clear();
      return failure.error;
    }
    case kube::WatchEventKind::kBroken:
      resource_version_.clear();  // the event is lost: only a list can replace it
      return Error(ErrorKind::kCorrupted, event.complaint);
    case kube::WatchEventKind::kAdded:
    case kube::WatchEventKind::kModified:
      sink_.put(event.object);
      break;
    case kube::WatchEventKind::kDeleted:
      sink_.remove(event.object);
      break;
    case kube::WatchEventKind::kBookmark:
      sink_.reach(version_of(event.object));
      break;
  }
  if (std::string version = version_of(event.object); !version.empty())
    resource_version_ = std::move(version);
  note_contact();
  pause_ = Duration::zero();
  ++events_received_;
  return {};
}

}  // namespace ratoon::runtime
