// Attempts: one thing that is tried until it is done, until it cannot be, or until its time is up.
//
// Thread contract: one thread.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/objects/remote/retry.h"
#include "agent/src/objects/remote/surroundings.h"

namespace ratoon::objects {

struct Patience {
  RetryPolicy retry{};
  Duration connect{std::chrono::seconds(5)};
  Duration silence{std::chrono::seconds(30)};
};
[[nodiscard]] Patience patience_of(const StoreOptions& options);

// Why something was refused, and what may follow.
struct Refusal {
  Error error;
  bool may_pass = false;
  bool is_answered_anew = false;  // the next request is another one (a new address): at once, and not counted
  std::optional<Duration> retry_after{};
};

class Attempts {
 public:
  // `what` begins the sentence of the last error: "reading s3://bucket/key".
  Attempts(const Surroundings& surroundings, const Patience& patience, std::string what, std::stop_token stop)
      : surroundings_(surroundings),
        patience_(patience),
        what_(std::move(what)),
        stop_(std::move(stop)),
        began_(surroundings.clock->now()) {}

  // Of the attempt that comes now.
  [[nodiscard]] http::Limits limits() const;
  // What came so far stays: the count begins anew, the time does not.
  void saw_progress() { failures_ = 0; }
  // Waits until it is time for the next attempt; an error where there is none.
  [[nodiscard]] Result<void> next(const Refusal& why);

  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  [[nodiscard]] Duration left() const;
  [[nodiscard]] Error give_up(ErrorKind kind, const std::string& how, const Error& why) const;

  const Surroundings& surroundings_;
  const Patience& patience_;
  const std::string what_;
  const std::stop_token stop_;
  const Timestamp began_;
  std::uint32_t failures_ = 0;  // since there was progress
  std::uint32_t new_requests_ = 0;
};

// A request whose answer is small, tried until it is answered. `make` is called for each attempt, since a
// signature has its time; `judge` says what is wrong with an answer, or nothing; `explain`, where there is
// one, says what a lost answer must have been, or nothing.
struct Exchange {
  std::function<Result<http::Request>()> make;
  std::function<std::optional<Refusal>(const http::Response&)> judge;
  std::function<std::optional<Refusal>()> explain{};
};
[[nodiscard]] Result<http::Response> exchange(const Surroundings& surroundings, const Exchange& exchange,
                                              Attempts& attempts);

}  // namespace ratoon::objects
