#include "operator/local/control/control_socket.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::local::control_socket_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kPatience = 2min;
const ControlRequest kKill{.kind = ControlRequest::Kind::kKill, .target = "worker-1", .notice_seconds = {}};

TEST(ControlMessage, SurvivesTheWay) {
  const ControlRequest reclaim{
      .kind = ControlRequest::Kind::kReclaim, .target = "node-2", .notice_seconds = 30.5};
  const ControlRequest suspend{.kind = ControlRequest::Kind::kSuspend};
  const ControlRequest resume{.kind = ControlRequest::Kind::kResume};
  for (const auto& request : {kKill, reclaim, suspend, resume}) {
    const auto back = decode_control_request(encode(request));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, request);
  }
  const ControlReply reply{.is_done = true, .message = "node-2 is gone"};
  EXPECT_EQ(*decode_control_reply(encode(reply)), reply);
}

TEST(ControlMessage, NonsenseIsRefused) {
  for (const char* text :
       {"", "[]", "{}", "{\"version\":1,\"command\":\"stop\",\"target\":\"a\"}",
        "{\"version\":1,\"command\":\"kill\"}", "{\"version\":2,\"command\":\"kill\",\"target\":\"a\"}",
        "{\"version\":1,\"command\":\"kill\"}",
        "{\"version\":1,\"command\":\"reclaim\",\"target\":\"a\",\"notice_seconds\":-1}"})
    EXPECT_FALSE(decode_control_request(text)) << text;
}

class ControlSocketTest : public testing::Test {
 protected:
  ControlSocket open() {
    auto socket = ControlSocket::open(folder(), disk_);
    EXPECT_TRUE(socket) << socket.error().message();
    return std::move(*socket);
  }
  virtual std::filesystem::path folder() { return temporary_.path(); }
  // Answers the next request.
  static ControlRequest serve(ControlSocket& socket) {
    for (;;) {
      pollfd ready{socket.fd(), POLLIN, 0};
      if (::poll(&ready, 1, std::chrono::milliseconds(kPatience).count()) != 1) break;
      for (const auto& asked : socket.take_requests()) {
        ControlSocket::answer(asked, {.is_done = true, .message = "done: " + asked.request.target});
        return asked.request;
      }
    }
    ADD_FAILURE() << "nobody asked";
    return {};
  }
  test::TemporaryFolder temporary_;
  DiskWriter disk_;
};

TEST_F(ControlSocketTest, WhoAsksIsAnswered) {
  ControlSocket socket = open();
  Result<ControlReply> reply = Error(ErrorKind::kIo, "not asked yet");
  std::jthread asker([&] { reply = send_control_request(folder(), kKill, kPatience); });
  EXPECT_EQ(serve(socket), kKill);
  asker.join();
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->message, "done: worker-1");
}

TEST_F(ControlSocketTest, APathMayBeLongerThanASocketsNameCanBe) {
  std::filesystem::path deep = folder();
  for (int i = 0; i < 4; ++i) deep /= std::string(60, 'd');
  std::filesystem::create_directories(deep);
  auto socket = ControlSocket::open(deep, disk_);
  ASSERT_TRUE(socket) << socket.error().message();
  EXPECT_TRUE(std::filesystem::exists(deep / "control"));
  std::jthread asker([&] { EXPECT_TRUE(send_control_request(deep, kKill, kPatience)); });
  serve(*socket);
}

TEST_F(ControlSocketTest, IsTheOwnersAloneAndGoesWithItsRunner) {
  const auto path = folder() / "control";
  {
    const ControlSocket socket = open();
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0600u);
  }
  disk_.begin<void>([] { return Result<void>(); }).wait();  // after the removal
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto reply = send_control_request(folder(), kKill, kPatience);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(reply.error().message(), HasSubstr("no `ratoon run` is running in"));
  EXPECT_EQ(send_control_request(folder() / "missing", kKill, kPatience).error().kind(),
            ErrorKind::kNotFound);
}

TEST_F(ControlSocketTest, WhatADeadRunnerLeftIsReplaced) {
  test::write_text(folder() / "control", "");
  ControlSocket socket = open();
  std::jthread asker([&] { EXPECT_TRUE(send_control_request(folder(), kKill, kPatience)); });
  serve(socket);
}

TEST_F(ControlSocketTest, NonsenseIsToldAndNobodyElseWaitsForIt) {
  ControlSocket socket = open();
  std::atomic<bool> is_told = false;
  Result<ControlReply> nonsense = Error(ErrorKind::kIo, "not asked yet");
  std::jthread first([&] {
    nonsense = send_control_request(
        folder(), {.kind = ControlRequest::Kind::kKill, .target = "", .notice_seconds = {}}, kPatience);
    is_told = true;
  });
  std::jthread second([&] { EXPECT_TRUE(send_control_request(folder(), kKill, kPatience)); });
  EXPECT_EQ(serve(socket), kKill);
  second.join();
  // It may have come after the other request.
  while (!is_told) {
    pollfd ready{socket.fd(), POLLIN, 0};
    ::poll(&ready, 1, 10);
    EXPECT_TRUE(socket.take_requests().empty());
  }
  first.join();
  ASSERT_TRUE(nonsense) << nonsense.error().message();
  EXPECT_FALSE(nonsense->is_done);
  EXPECT_THAT(nonsense->message, HasSubstr("target"));
}

}  // namespace
}  // namespace ratoon::local::control_socket_test
