#include "tests/conformance/support/scripted_server.h"

#include <algorithm>

#include <sys/socket.h>

namespace ratoon::http::testing {

ScriptedServer::ScriptedServer(Script script)
    : script_(std::move(script)), acceptor_([this] { accept_all(); }) {}

ScriptedServer::~ScriptedServer() {
  is_stopping_ = true;
  ::shutdown(listener_.fd.get(), SHUT_RDWR);
  acceptor_.join();
  std::vector<std::thread> scripts;
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    scripts.swap(scripts_);
  }
  for (auto& script : scripts) script.join();
}

std::string ScriptedServer::url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port()) + path;
}

void ScriptedServer::accept_all() {
  while (!is_stopping_) {
    UniqueFd fd(::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.is_open()) continue;
    const int number = ++connection_count_;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd.get());
    scripts_.emplace_back([this, number, open = fd.get(), peer = RawSocket(std::move(fd))]() mutable {
      script_(peer, number);
      const std::lock_guard script_lock(mutex_);
      std::erase(open_, open);  // a script may have closed it
      peer.close();
    });
  }
}

ScriptedServer::Script answering(std::string reply) {
  return [reply = std::move(reply)](RawSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(reply);
    peer.read_to_end(kNever);
  };
}

}  // namespace ratoon::http::testing
