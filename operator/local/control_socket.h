// ControlSocket: the door by which its owner speaks to a run that goes on: a Unix socket in the run's folder.
// Nobody else may: the file is the owner's alone, and who asks is looked at as well. It never blocks.
#pragma once

#include <filesystem>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "operator/local/control_message.h"

namespace ratoon::local {

class ControlSocket {
 public:
  // `folder` is the run's, whose lock is held: what lies there under our name is a dead runner's.
  [[nodiscard]] static Result<ControlSocket> open(const std::filesystem::path& folder);
  ~ControlSocket();
  ControlSocket(ControlSocket&& other) noexcept = default;
  ControlSocket& operator=(ControlSocket&&) = delete;

  // Readable while there is something to take.
  [[nodiscard]] int fd() const { return waiting_.get(); }

  struct Asked {
    ControlRequest request;
    UniqueFd asker;
  };
  // What can be read now. Who sends nonsense is told so here.
  [[nodiscard]] std::vector<Asked> take();
  static void answer(const Asked& asked, const ControlReply& reply);

 private:
  ControlSocket(UniqueFd folder, UniqueFd listener, UniqueFd waiting)
      : folder_(std::move(folder)), listener_(std::move(listener)), waiting_(std::move(waiting)) {}

  void accept_all();

  UniqueFd folder_;
  UniqueFd listener_;
  UniqueFd waiting_;              // epoll over the listener and those who have not asked yet
  std::vector<UniqueFd> askers_;  // a bounded number: one more, and the oldest has to come again
};

// Asks the runner at work in this folder and waits for its answer. kNotFound: none is.
[[nodiscard]] Result<ControlReply> ask_runner(const std::filesystem::path& folder,
                                              const ControlRequest& request, Duration patience);

}  // namespace ratoon::local
