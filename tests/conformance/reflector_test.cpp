// The reflector against a server that gives scripted answers: it drops events, forgets versions and sends
// wrong ones.
#include "operator/runtime/api_server/reflector.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/conformance/support/scripted_server.h"

namespace ratoon::runtime::reflector_test {
namespace {

using http::testing::RawSocket;
using http::testing::ScriptedServer;
using nlohmann::json;

// A copy as a set of names, and all events that it received.
class Copy final : public KubeObjectSink {
 public:
  void begin_list() override { listed_.clear(); }
  void list_object(const json& object) override { listed_.insert(name_of(object)); }
  void end_list(const std::string& version) override {
    change([&] { names_ = listed_; }, "listed " + version);
  }
  void put(const json& object) override {
    change([&] { names_.insert(name_of(object)); }, "put " + name_of(object));
  }
  void remove(const json& object) override {
    change([&] { names_.erase(name_of(object)); }, "removed " + name_of(object));
  }
  void reach(const std::string& version) override {
    change([] {}, "reached " + version);
  }

  // Whether the event arrived within a while; later events are not examined.
  bool wait_for(const std::string& line) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, http::testing::kPatience,
                             [&] { return std::find(lines_.begin(), lines_.end(), line) != lines_.end(); });
  }
  std::set<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  static std::string name_of(const json& object) { return object["metadata"]["name"].get<std::string>(); }
  template <class Change>
  void change(Change apply, std::string line) {
    const std::lock_guard lock(mutex_);
    apply();
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }

  std::set<std::string> listed_;  // of the reflector's thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> names_;
  std::vector<std::string> lines_;
};

std::string object(const std::string& name, int version) {
  return json{{"metadata", {{"name", name}, {"resourceVersion", std::to_string(version)}}}}.dump();
}

std::string list_of(const std::vector<std::string>& objects, int version, const std::string& more = "") {
  std::string body = R"({"metadata":{"resourceVersion":")" + std::to_string(version) + R"(","continue":")" +
                     more + R"("},"items":[)";
  for (std::size_t i = 0; i < objects.size(); ++i) body += (i > 0 ? "," : "") + objects[i];
  return body + "]}";
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

std::string reply(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

const std::string kWatchHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

void send_chunk(const RawSocket& peer, const std::string& bytes) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  peer.send(size + bytes + "\r\n");
}

class ReflectorTest : public testing::Test {
 protected:
  // Each request gets the next answer; after the last one connections hang.
  using Answer = std::function<void(RawSocket& peer, const std::string& request)>;

  void serve(std::vector<Answer> answers) {
    answers_ = std::move(answers);
    server_ = std::make_unique<ScriptedServer>([this](RawSocket& peer, int) {
      const std::string head = peer.read_until("\r\n\r\n");
      const std::string request = head.substr(0, head.find("\r\n"));
      std::size_t number = 0;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        number = requests_.size() - 1;
      }
      if (number < answers_.size()) return answers_[number](peer, request);
      peer.read_to_end(http::testing::kNever);
    });
    client_ = std::make_unique<ApiClient>(
        kube::ApiServerAccess{.server = "http://127.0.0.1:" + std::to_string(server_->port())}, clock_);
    ReflectorOptions options{.selection = {.resource = kube::kPods}, .watch_seconds = watch_seconds_};
    options.watch_timeout_margin = std::chrono::milliseconds(200);
    options.pause_min = std::chrono::milliseconds(1);
    options.pause_max = std::chrono::milliseconds(10);
    options.draw = [] { return 0.0; };
    reflector_ = std::make_unique<Reflector>(*client_, copy_, clock_, options,
                                             Logger(clock_, {.min_level = LogLevel::kError}));
    reflector_->start();
  }
  void TearDown() override {
    reflector_.reset();
    server_.reset();
  }

  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  bool is_asked(std::size_t number, const std::string& words) {
    return requests().size() > number && requests()[number].find(words) != std::string::npos;
  }

  static Answer say(const std::string& status, const std::string& body) {
    return [=](RawSocket& peer, const std::string&) { peer.send(reply(status, body)); };
  }
  // Sends these pieces unchanged and breaks the connection.
  static Answer watch(const std::vector<std::string>& pieces) {
    return [=](RawSocket& peer, const std::string&) {
      peer.send(kWatchHead);
      for (const auto& piece : pieces) send_chunk(peer, piece);
      peer.reset();
    };
  }
  static Answer watch_and_stay(const std::vector<std::string>& pieces) {
    return [=](RawSocket& peer, const std::string&) {
      peer.send(kWatchHead);
      for (const auto& piece : pieces) send_chunk(peer, piece);
      peer.read_to_end(http::testing::kNever);
    };
  }

  SystemClock clock_;
  std::uint32_t watch_seconds_ = 3600;  // a busy machine may take its time
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<Answer> answers_;
  Copy copy_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, ListsInPagesThenWatchesFromTheListsVersion) {
  const std::string split = event("ADDED", object("c", 12));
  serve({say("200 OK", list_of({object("a", 3)}, 9, "more/")), say("200 OK", list_of({object("b", 4)}, 10)),
         watch_and_stay({split.substr(0, 20), split.substr(20), event("DELETED", object("a", 13)),
                         event("BOOKMARK", object("", 20))})});
  ASSERT_TRUE(copy_.wait_for("reached 20"));
  EXPECT_EQ(copy_.names(), (std::set<std::string>{"b", "c"}));
  EXPECT_TRUE(reflector_->is_synced());
  EXPECT_FALSE(reflector_->behind_since());
  EXPECT_TRUE(is_asked(1, "continue=more%2F"));
  EXPECT_TRUE(is_asked(2, "resourceVersion=10&"));
}

TEST_F(ReflectorTest, WhoHasToKnowHowThingsAreNowHasItListAgain) {
  serve({say("200 OK", list_of({object("a", 3)}, 10)), watch_and_stay({event("BOOKMARK", object("", 11))}),
         say("200 OK", list_of({object("b", 4)}, 20)), watch_and_stay({event("BOOKMARK", object("", 21))})});
  ASSERT_TRUE(copy_.wait_for("reached 11"));
  reflector_->relist();
  ASSERT_TRUE(copy_.wait_for("reached 21"));
  EXPECT_TRUE(reflector_->is_synced());
  EXPECT_FALSE(reflector_->behind_since()) << "nothing has failed";
  EXPECT_EQ(copy_.names(), (std::set<std::string>{"b"}));
  EXPECT_FALSE(is_asked(2, "watch=true"));
}

TEST_F(ReflectorTest, AWatchThatBreaksGoesOnAfterTheLastEvent) {
  serve({say("200 OK", list_of({}, 10)), watch({event("ADDED", object("a", 12)) + R"({"type":"ADD)"}),
         watch_and_stay({event("ADDED", object("b", 14))})});
  ASSERT_TRUE(copy_.wait_for("put b"));
  EXPECT_TRUE(is_asked(2, "watch=true"));
  EXPECT_TRUE(is_asked(2, "resourceVersion=12&"));
  EXPECT_EQ(copy_.names(), (std::set<std::string>{"a", "b"}));
}

TEST_F(ReflectorTest, WhatTheServerForgotIsListedAnewAsADifference) {
  serve({say("200 OK", list_of({object("a", 1), object("b", 2)}, 10)),
         say("410 Gone", R"({"kind":"Status"})"), say("200 OK", list_of({object("b", 2)}, 20)),
         watch({event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})")}),
         say("200 OK", list_of({object("c", 25)}, 30))});
  ASSERT_TRUE(copy_.wait_for("listed 20"));
  ASSERT_TRUE(copy_.wait_for("listed 30"));
  EXPECT_EQ(copy_.names(), (std::set<std::string>{"c"}));
}

// The reflector's position advances after an event was taken, and is in no file: a reflector that begins anew
// lists.
TEST_F(ReflectorTest, AnotherOneBeginsWithAList) {
  serve({say("200 OK", list_of({object("a", 3)}, 10)), watch_and_stay({event("ADDED", object("b", 12))})});
  ASSERT_TRUE(copy_.wait_for("put b"));
  reflector_.reset();
  server_.reset();
  requests_.clear();
  serve({say("200 OK", list_of({object("b", 12)}, 20))});
  ASSERT_TRUE(copy_.wait_for("listed 20"));
  EXPECT_TRUE(is_asked(0, "/pods?limit="));
  EXPECT_FALSE(is_asked(0, "resourceVersion="));
  EXPECT_EQ(copy_.names(), (std::set<std::string>{"b"}));
}

// A reader that keeps the server waiting fills the server's buffers. No test reads the copy here.
TEST_F(ReflectorTest, AFloodIsTakenWhileNobodyLooks) {
  constexpr int kEvents = 5000;
  std::string flood;
  for (int i = 1; i <= kEvents; ++i)
    flood += event("MODIFIED", object("p" + std::to_string(i % 100), 10 + i));
  serve({say("200 OK", list_of({}, 10)), watch_and_stay({flood, event("ADDED", object("last", 6000))})});
  ASSERT_TRUE(copy_.wait_for("put last"));
  EXPECT_EQ(copy_.names().size(), 101U);
}

TEST_F(ReflectorTest, ALineThatIsNoEventIsMendedByAList) {
  serve({say("200 OK", list_of({}, 10)), watch({"nonsense\n" + event("ADDED", object("a", 12))}),
         say("200 OK", list_of({object("a", 12)}, 20))});
  ASSERT_TRUE(copy_.wait_for("listed 20"));
  EXPECT_TRUE(is_asked(2, "/pods?limit="));
}

TEST_F(ReflectorTest, RefusalsAreBorne) {
  serve({say("500 Internal Server Error", "?"), say("200 OK", "no JSON"), say("200 OK", "{}"),
         say("403 Forbidden", ""), say("200 OK", list_of({object("a", 1)}, 10))});
  ASSERT_TRUE(copy_.wait_for("listed 10"));
}

TEST_F(ReflectorTest, AServerThatAsksForTimeIsGivenIt) {
  Timestamp refused_at;
  const Answer busy = [&](RawSocket& peer, const std::string&) {
    refused_at = clock_.now();
    peer.send(
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  };
  serve({say("200 OK", list_of({}, 10)), busy, watch_and_stay({event("ADDED", object("a", 11))})});
  ASSERT_TRUE(copy_.wait_for("put a"));
  EXPECT_GE(clock_.now() - refused_at, std::chrono::seconds(1))
      << "without its wish it would be ten milliseconds";
}

// Sixty jobs of a megabyte each, made by a user who may make jobs.
TEST_F(ReflectorTest, APageThatIsTooLongIsAskedForInPieces) {
  const std::string fat = list_of({R"({"x":")" + std::string(17 << 20, 'x') + "\"}"}, 9);
  serve({say("200 OK", fat), say("200 OK", fat), say("200 OK", list_of({object("a", 3)}, 9, "more")),
         say("200 OK", fat), say("200 OK", list_of({object("b", 4)}, 10))});
  ASSERT_TRUE(copy_.wait_for("listed 10"));
  EXPECT_EQ(copy_.names(), (std::set<std::string>{"a", "b"}));
  for (const auto& [number, words] : {std::pair(0, "limit=500"),
                                      {1, "limit=125"},
                                      {2, "limit=31"},
                                      {3, "limit=31&continue=more"},
                                      {4, "limit=7&continue=more"}})
    EXPECT_TRUE(is_asked(number, words)) << number;
}

TEST_F(ReflectorTest, OneThatIsTooLongByItselfIsATrouble) {
  const std::string fat = list_of({R"({"x":")" + std::string(17 << 20, 'x') + "\"}"}, 9);
  std::vector<Answer> answers(5, say("200 OK", fat));
  answers.push_back(say("200 OK", list_of({object("a", 3)}, 10)));
  serve(answers);
  ASSERT_TRUE(copy_.wait_for("listed 10"));
  EXPECT_TRUE(is_asked(4, "limit=1 "));
  EXPECT_TRUE(is_asked(5, "limit=500")) << "from the beginning";
}

TEST_F(ReflectorTest, AWatchThatFallsSilentIsGivenUp) {
  watch_seconds_ = 1;
  std::vector<Answer> answers = {say("200 OK", list_of({}, 10)), watch_and_stay({})};
  // On a busy machine the watches that follow may be given up before their event is read.
  answers.resize(100, watch_and_stay({event("ADDED", object("a", 11))}));
  serve(answers);
  ASSERT_TRUE(copy_.wait_for("put a")) << "after watch_seconds and the margin";
  EXPECT_TRUE(is_asked(2, "resourceVersion=10&"));
}

TEST_F(ReflectorTest, ItIsBehindWhileNobodyAnswers) {
  serve({say("200 OK", list_of({}, 10)), watch_and_stay({event("ADDED", object("a", 11))})});
  ASSERT_TRUE(copy_.wait_for("put a"));
  EXPECT_TRUE(reflector_->is_synced());
  EXPECT_FALSE(reflector_->behind_since());
  server_.reset();
  const auto spin = [&](Duration patience, const auto& is_over) {
    const Timestamp end = clock_.now() + patience;
    while (!is_over() && clock_.now() < end) std::this_thread::yield();
  };
  spin(http::testing::kPatience, [&] { return reflector_->behind_since().has_value(); });
  const auto since = reflector_->behind_since();
  ASSERT_TRUE(since);
  spin(std::chrono::milliseconds(100), [] { return false; });  // it asks many times meanwhile
  EXPECT_EQ(reflector_->behind_since(), since) << "since it was last heard of";
  EXPECT_TRUE(reflector_->trouble());
}

TEST_F(ReflectorTest, EndsAtOnceWhateverItWaitsFor) {
  serve({say("200 OK", list_of({}, 10)), watch_and_stay({})});
  ASSERT_TRUE(copy_.wait_for("listed 10"));
  reflector_.reset();  // nothing else ends the watch: neither its hour nor the server
}

}  // namespace
}  // namespace ratoon::runtime::reflector_test
