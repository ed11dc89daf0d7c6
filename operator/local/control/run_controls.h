// operator/local/control/: changes a local run when the user asks for it. RunControls carries out requests:
// kill a member, remove a node, suspend, resume. A command and a trace remove a node in the same way:
// RunControls kills the node's processes, at once or after the time of a preemption notice. The operator's
// core does not know that the user caused this loss, and treats it like any other loss.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/local/control/control_socket.h"
#include "operator/local/control/loss_schedule.h"
#include "operator/local/folder/run_journal.h"
#include "operator/local/members/local_cluster.h"

namespace ratoon::local {

class RunControls {
 public:
  using PrintLine = std::function<void(const std::string& line)>;

  // All arguments must outlive the RunControls.
  RunControls(LocalCluster& cluster, RunJournal& journal, const Clock& clock, PrintLine say,
              bool is_suspended)
      : cluster_(cluster),
        journal_(journal),
        clock_(clock),
        print_(std::move(say)),
        is_suspended_(is_suspended) {}

  // After this call, process_pending() adds and removes nodes as `plan` says.
  void follow_plan(LossPlan plan) { schedule_ = LossSchedule(std::move(plan), clock_.now()); }
  // The owner of the run can send requests after this call. If the socket cannot be created, prints why.
  void listen(const std::filesystem::path& folder, DiskWriter& disk);
  // Returns a descriptor that is readable while a request waits, or -1 without a socket.
  [[nodiscard]] int fd() const { return socket_ ? socket_->fd() : -1; }

  // Serves the waiting requests and carries out planned losses.
  void process_pending();
  [[nodiscard]] std::optional<Timestamp> next_event_time() const;
  // Returns whether the run is suspended, according to the last request. Before the first request, the job's
  // spec decides.
  [[nodiscard]] bool is_suspended() const { return is_suspended_; }

 private:
  void follow_schedule();
  [[nodiscard]] Result<std::string> serve_request(const ControlRequest& request);
  [[nodiscard]] Result<std::string> kill(const std::string& member);
  // Announces that the node will be removed after `notice_seconds`. Without `notice_seconds`, removes the
  // node at once.
  [[nodiscard]] Result<std::string> reclaim(const std::string& node, std::optional<double> notice_seconds,
                                            const std::string& asked_by);
  [[nodiscard]] Result<std::string> end_node(const std::string& node);
  [[nodiscard]] Result<std::string> suspend(bool is_to_be);

  LocalCluster& cluster_;
  RunJournal& journal_;
  const Clock& clock_;
  const PrintLine print_;
  bool is_suspended_;
  std::optional<ControlSocket> socket_;
  LossSchedule schedule_;
};

}  // namespace ratoon::local
