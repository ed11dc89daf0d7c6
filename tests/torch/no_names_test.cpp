// RankGroups that meet and average without the resolver: it answers nothing and counts the calls.
#include <atomic>
#include <cstring>
#include <thread>

#include <ATen/ops/full.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "agent/src/board/ip_address.h"
#include "agent/src/torch/collectives/group_connector.h"
#include "base/core/unique_fd.h"

namespace {

std::atomic<int> names_asked_for = 0;

}  // namespace

// LibTorch is linked dynamically, so it calls these functions instead of the C library's.
extern "C" int getnameinfo(const sockaddr* address, socklen_t size, char* host, socklen_t host_size,
                           char* service, socklen_t service_size, int flags) {
  if ((flags & NI_NUMERICHOST) == 0) {
    ++names_asked_for;
    return EAI_AGAIN;
  }
  static const auto next = reinterpret_cast<decltype(&getnameinfo)>(::dlsym(RTLD_NEXT, "getnameinfo"));
  return next(address, size, host, host_size, service, service_size, flags);
}

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto next = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  addrinfo numeric = hints == nullptr ? addrinfo{} : *hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  const int code = next(node, service, &numeric, found);
  if (code != 0) ++names_asked_for;
  return code;
}

namespace ratoon {
namespace {

struct Family {
  const char* name;
  const char* loopback;
};

class NoNames : public testing::TestWithParam<Family> {};

TEST_P(NoNames, AreAskedForWhereRanksMeetAndAverage) {
  constexpr std::uint32_t kRanks = 3;
  const std::string host = GetParam().loopback;
  auto address = board::read_ip(host, 0).value();
  const UniqueFd listening(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listening.get(), address.get(), address.size) != 0) GTEST_SKIP() << "no " << GetParam().name;
  ASSERT_EQ(::listen(listening.get(), SOMAXCONN), 0);
  ASSERT_EQ(::getsockname(listening.get(), address.get(), &address.size), 0);

  names_asked_for = 0;
  std::vector<std::unique_ptr<GroupConnector>> meetings;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const Rendezvous rendezvous{.host = host,
                                .port = address.port(),
                                .listening_fd = listening.get(),
                                .own_host = host,
                                .secret = std::string(32, 's')};
    meetings.push_back(std::make_unique<GroupConnector>(GroupConnector::Plan{
        .rendezvous = rendezvous, .attempt = 1, .rank = rank, .world_size = kRanks, .fingerprint = "same"}));
  }
  std::vector<c10::intrusive_ptr<c10d::Backend>> groups;
  for (const auto& meeting : meetings) {
    while (!meeting->is_over()) std::this_thread::yield();
    ASSERT_EQ(meeting->error(), nullptr);
    groups.push_back(meeting->take_group());
  }
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  for (const auto& group : groups) {
    std::vector<at::Tensor> one{at::full({4}, 1.0F)};
    works.push_back(group->allreduce(one));
  }
  for (const auto& work : works) work->wait();
  EXPECT_EQ(names_asked_for, 0);
}

TEST(NoNamesItself, Counts) {
  names_asked_for = 0;
  addrinfo* found = nullptr;
  EXPECT_NE(::getaddrinfo("localhost", nullptr, nullptr, &found), 0);
  const auto address = board::read_ip("127.0.0.1", 1).value();
  char host[64] = {};
  EXPECT_NE(::getnameinfo(address.get(), address.size, host, sizeof host, nullptr, 0, 0), 0);
  EXPECT_EQ(names_asked_for, 2);
  EXPECT_EQ(::getnameinfo(address.get(), address.size, host, sizeof host, nullptr, 0, NI_NUMERICHOST), 0);
  EXPECT_STREQ(host, "127.0.0.1");
}

INSTANTIATE_TEST_SUITE_P(Families, NoNames,
                         testing::Values(Family{"IPv4", "127.0.0.1"}, Family{"IPv6", "::1"}),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace ratoon
