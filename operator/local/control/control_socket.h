// ControlSocket: a Unix socket in the run's folder, on which `ratoon run` receives requests from the user who
// owns the run, and from root. The socket's file mode and a check of each connection's credentials keep out
// other users. No method blocks.
#pragma once

#include <filesystem>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "operator/local/control/control_message.h"
#include "operator/local/disk_writer.h"

namespace ratoon::local {

class ControlSocket {
 public:
  // The caller must hold the lock of the run's `folder`. An existing socket can then only come from a killed
  // run, so open() replaces it. The destructor removes the socket by a call through `disk`, so `disk` must
  // outlive the ControlSocket.
  [[nodiscard]] static Result<ControlSocket> open(const std::filesystem::path& folder, DiskWriter& disk);
  ~ControlSocket();
  ControlSocket(ControlSocket&& other) noexcept = default;
  ControlSocket& operator=(ControlSocket&&) = delete;

  // Returns a file descriptor that is readable while a request or a connection waits.
  [[nodiscard]] int fd() const { return epoll_.get(); }

  struct PendingRequest {
    ControlRequest request;
    UniqueFd asker;
  };
  // Returns the requests that can be read now. Answers malformed requests with an error.
  [[nodiscard]] std::vector<PendingRequest> take_requests();
  static void answer(const PendingRequest& asked, const ControlReply& reply);

 private:
  ControlSocket(UniqueFd folder, UniqueFd listener, UniqueFd waiting, DiskWriter& disk)
      : disk_(disk),
        folder_fd_(std::move(folder)),
        listener_(std::move(listener)),
        epoll_(std::move(waiting)) {}

  void accept_connections();

  DiskWriter& disk_;
  UniqueFd folder_fd_;
  UniqueFd listener_;
  UniqueFd epoll_;                     // epoll over the listener and connections without a request yet
  std::vector<UniqueFd> connections_;  // limited in number: one more drops the oldest connection
};

// Sends a request to the `ratoon run` of this folder and waits for the reply. Returns kNotFound if no
// `ratoon run` uses this folder.
[[nodiscard]] Result<ControlReply> send_control_request(const std::filesystem::path& folder,
                                                        const ControlRequest& request, Duration timeout);

}  // namespace ratoon::local
