// Controls: what is done to a run on purpose. Whoever asks for a loss, it takes one path: the node gets its
// notice, or none, and at its end its processes are killed; what follows is decided as for any other loss.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/local/control_socket.h"
#include "operator/local/loss_schedule.h"
#include "operator/local/machine.h"
#include "operator/local/run_book.h"

namespace ratoon::local {

class Controls {
 public:
  using Say = std::function<void(const std::string& line)>;

  // All of them outlive it.
  Controls(Machine& machine, RunBook& book, const Clock& clock, Say say, bool is_suspended)
      : machine_(machine), book_(book), clock_(clock), say_(std::move(say)), is_suspended_(is_suspended) {}

  // From now on nodes come and go as planned.
  void follow(LossPlan plan) { schedule_ = LossSchedule(std::move(plan), clock_.now()); }
  // From now on the run's owner can ask. Where no socket can be made, says why.
  void listen(const std::filesystem::path& folder);
  // Readable while somebody asks; -1: nobody can.
  [[nodiscard]] int fd() const { return socket_ ? socket_->fd() : -1; }

  // Does what was asked for and what is due.
  void act();
  [[nodiscard]] std::optional<Timestamp> next() const;
  // What the job's spec says, or whoever asked last.
  [[nodiscard]] bool is_suspended() const { return is_suspended_; }

 private:
  void follow_schedule();
  [[nodiscard]] Result<std::string> serve(const ControlRequest& request);
  [[nodiscard]] Result<std::string> kill(const std::string& member);
  // Without notice the node goes at once.
  [[nodiscard]] Result<std::string> reclaim(const std::string& node, std::optional<double> notice_seconds,
                                            const std::string& asked_by);
  [[nodiscard]] Result<std::string> end(const std::string& node);
  [[nodiscard]] Result<std::string> suspend(bool is_to_be);

  Machine& machine_;
  RunBook& book_;
  const Clock& clock_;
  const Say say_;
  bool is_suspended_;
  std::optional<ControlSocket> socket_;
  LossSchedule schedule_;
};

}  // namespace ratoon::local
