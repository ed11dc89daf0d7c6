// A trainer for attempts_test.py: two ranks that go through attempt after attempt in the same processes. In
// each attempt rank 1 leaves while rank 0 waits in a collective, which is given up.
//
// After "reset" the two ranks lose their connections in the first attempt instead, and both go on.
//
//   attempts_probe ATTEMPTS [reset]
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

#include "tests/support/change_world.h"

namespace {

std::ptrdiff_t entries_of(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

// The memory that the program holds, tensors included. The resident size would also count the memory that the
// allocator keeps for ended threads, which depends on the load of the machine.
std::size_t kilobytes_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return (heap.uordblks + heap.hblkhd) / 1024;
}

void say_size(std::uint64_t attempt) {
  std::printf("attempt %llu kilobytes %zu threads %td descriptors %td\n",
              static_cast<unsigned long long>(attempt), kilobytes_in_use(), entries_of("/proc/self/task"),
              entries_of("/proc/self/fd"));
  std::fflush(stdout);
}

std::uint16_t port_of(int (*name)(int, sockaddr*, socklen_t*), int fd) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  const bool is_known = name(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0 && at.sin_family == AF_INET;
  return is_known ? ntohs(at.sin_port) : std::uint16_t{0};
}

// As a firewall does that forgets its connections: those of collectives, and not those to the board.
void reset_connections(const ratoon::Session& session) {
  const std::uint16_t board = session.rendezvous().port;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    const std::uint16_t peer = port_of(::getpeername, fd);
    if (peer != 0 && peer != board && port_of(::getsockname, fd) != board) ::shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t attempts = argc > 1 ? std::stoull(argv[1]) : 3;
  const bool is_reset = argc > 2 && argv[2] == std::string_view("reset");
  torch::set_num_threads(1);
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    say_size(session.attempt());
    torch::nn::Linear net(1024, 1024);
    torch::optim::Adam optimizer(net->parameters(), 1e-3);
    session.track("net", *net);
    session.track("optimizer", optimizer);
    for (const std::uint64_t step : session.steps(10)) {
      optimizer.zero_grad();
      const auto loss = net->forward(torch::ones({2, 1024})).square().mean();
      const bool leaves = session.attempt() < attempts && step % 2 == 1;
      if (leaves && session.rank() == 1) {
        if (!is_reset) ratoon::test::change_world(session, "the test wants another attempt");
        reset_connections(session);
      }
      session.average_gradients(*net, {.backward = [&] { loss.backward(); }});
      optimizer.step();
    }
  });
}
