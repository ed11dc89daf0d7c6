#include "tests/support/nccl_stand_in/world_id.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <sys/random.h>

#include "tests/support/nccl_stand_in/immortal.h"

namespace ratoon::test::nccl_stand_in {
namespace {

constexpr std::string_view kMark = "ratoon-nccl-stand-in";
constexpr std::size_t kPortAt = 32;
constexpr std::size_t kSecretAt = 64;

struct OpenWorlds {
  std::mutex mutex;
  std::map<Secret, Listener> listeners;  // guarded by mutex
};

}  // namespace

ncclUniqueId encode(const WorldId& id) {
  ncclUniqueId made{};
  kMark.copy(made.internal, kMark.size());
  std::memcpy(&made.internal[kPortAt], &id.port, sizeof id.port);
  std::memcpy(&made.internal[kSecretAt], id.secret.data(), id.secret.size());
  return made;
}

std::optional<WorldId> decode(const ncclUniqueId& id) {
  if (std::string_view(id.internal, kMark.size()) != kMark) return std::nullopt;
  WorldId read;
  std::memcpy(&read.port, &id.internal[kPortAt], sizeof read.port);
  std::memcpy(read.secret.data(), &id.internal[kSecretAt], read.secret.size());
  return read;
}

std::optional<WorldId> open_world() {
  WorldId id;
  Listener listener = listen_on_loopback();
  if (!listener.socket.is_open()) return std::nullopt;
  if (::getrandom(id.secret.data(), id.secret.size(), 0) != static_cast<ssize_t>(id.secret.size()))
    return std::nullopt;
  id.port = listener.port;
  auto& worlds = immortal<OpenWorlds>();
  const std::scoped_lock lock(worlds.mutex);
  worlds.listeners.emplace(id.secret, std::move(listener));
  return id;
}

std::optional<Listener> take_listener(const WorldId& id) {
  auto& worlds = immortal<OpenWorlds>();
  const std::scoped_lock lock(worlds.mutex);
  const auto found = worlds.listeners.find(id.secret);
  if (found == worlds.listeners.end()) return std::nullopt;
  Listener taken = std::move(found->second);
  worlds.listeners.erase(found);
  return taken;
}

}  // namespace ratoon::test::nccl_stand_in
