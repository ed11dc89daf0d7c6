#include "operator/local/control/run_controls.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/core/split_join.h"

namespace ratoon::local {
namespace {

std::string join_names(const std::vector<std::string>& names) {
  return names.empty() ? "no member" : join(names, ", ");
}

std::string seconds_text(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g s", seconds(duration));
  return text.data();
}

}  // namespace

void RunControls::listen(const std::filesystem::path& folder, DiskWriter& disk) {
  auto socket = ControlSocket::open(folder, disk);
  if (socket)
    socket_.emplace(std::move(*socket));
  else
    print_("`ratoon kill`, `reclaim`, `suspend` and `resume` do not reach this run: " +
           socket.error().message());
}

void RunControls::process_pending() {
  if (socket_) {
    for (const auto& asked : socket_->take_requests()) {
      const auto done = serve_request(asked.request);
      ControlSocket::answer(asked,
                            {.is_done = done.has_value(), .message = done ? *done : done.error().message()});
    }
  }
  follow_schedule();
  for (const auto& node : cluster_.nodes().expired_nodes(clock_.now())) static_cast<void>(end_node(node));
}

std::optional<Timestamp> RunControls::next_event_time() const {
  const auto due = cluster_.nodes().next_end_time();
  const auto planned = schedule_.next_event_time();
  return due && planned ? std::min(*due, *planned) : due ? due : planned;
}

void RunControls::follow_schedule() {
  std::vector<std::string> occupied;
  for (const auto& node : cluster_.nodes().stable_nodes())
    if (!cluster_.living_pods_on(node).empty()) occupied.push_back(node);
  std::vector<std::string> came;
  for (const auto& due : schedule_.take_due_events(clock_.now(), occupied)) {
    if (due.is_added) {
      // An old node with this name may still exist and have a preemption notice. Remove the old node before
      // you add the new node.
      if (cluster_.nodes().end_of(due.node)) static_cast<void>(end(due.node));
      cluster_.nodes().add(due.node);
      came.push_back(due.node);
    } else {
      // Ignore an error of reclaim(): the node was removed before, for example by `ratoon reclaim`.
      static_cast<void>(reclaim(due.node, schedule_.notice_seconds(), due.source));
    }
  }
  if (!came.empty()) print_(join_names(came) + (came.size() == 1 ? " has come" : " have come"));
}

Result<std::string> RunControls::serve_request(const ControlRequest& request) {
  switch (request.kind) {
    case ControlRequest::Kind::kKill:
      return kill(request.target);
    case ControlRequest::Kind::kReclaim:
      return reclaim(request.target, request.notice_seconds, "command");
    case ControlRequest::Kind::kSuspend:
      return suspend(true);
    case ControlRequest::Kind::kResume:
      return suspend(false);
  }
  return Error(ErrorKind::kInvalid, "the kind of the request is unknown");
}

Result<std::string> RunControls::suspend(bool is_to_be) {
  if (is_suspended_ == is_to_be)
    return Error(ErrorKind::kInvalid, is_to_be ? "the run is suspended already" : "the run is not suspended");
  is_suspended_ = is_to_be;
  print_(is_to_be ? "suspended on request: members save and leave" : "resumed, as asked");
  return std::string(is_to_be ? "the run saves and ends its processes; `ratoon resume` continues it"
                              : "the run continues");
}

Result<std::string> RunControls::kill(const std::string& member) {
  const auto killed = cluster_.kill_member(member);
  if (!killed) return killed.error();
  journal_.note_loss(clock_.wall_now(), "kill", *killed, {}, "command");
  print_("killed " + *killed + " with kill -9, on request");
  return *killed + " is killed";
}

Result<std::string> RunControls::reclaim(const std::string& node, std::optional<double> notice_seconds,
                                         const std::string& asked_by) {
  const Duration notice = from_seconds(notice_seconds.value_or(0));
  const auto on_it = cluster_.living_pods_on(node);
  if (notice.count() > 0) {
    if (const auto known = cluster_.nodes().end_of(node); known && *known <= clock_.now() + notice)
      return Error(ErrorKind::kInvalid, node + " already got a preemption notice and is removed in " +
                                            seconds_text(*known - clock_.now()) +
                                            ": the time of notice can be shortened, but not extended");
    const WallTime wall_clock_end{clock_.wall_now().since_epoch + notice};
    if (auto told = cluster_.nodes().announce_end(node, clock_.now() + notice, wall_clock_end); !told)
      return told.error();
    journal_.note_loss(clock_.wall_now(), "reclaim", node, notice_seconds, asked_by);
    const std::string sentence = node + " got a preemption notice and is removed in " + seconds_text(notice) +
                                 "; its members: " + join_names(on_it);
    print_(sentence);
    return sentence;
  }
  const auto taken_along = end_node(node);
  if (taken_along) journal_.note_loss(clock_.wall_now(), "reclaim", node, notice_seconds, asked_by);
  return taken_along;
}

Result<std::string> RunControls::end_node(const std::string& node) {
  const auto taken_along = cluster_.end_node(node);
  if (!taken_along) return taken_along.error();
  const std::string sentence = node + " was removed with its members: " + join_names(*taken_along);
  print_(sentence);
  return sentence;
}

}  // namespace ratoon::local
