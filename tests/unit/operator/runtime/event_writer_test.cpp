// The order in which events are written, on an API server that takes its time for one namespace.
#include "operator/runtime/jobs/event_writer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::runtime::event_writer_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Words = std::vector<std::string>;

class TransportTo final : public http::HttpTransport {
 public:
  using Answer = std::function<http::Response(const std::string& name_space, const std::string& note)>;
  explicit TransportTo(Answer answer) : answer_(std::move(answer)) {}

  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    const json event = json::parse(request.body);
    const std::string begin = "/namespaces/";
    const auto at = request.url.find(begin) + begin.size();
    return answer_(request.url.substr(at, request.url.find('/', at) - at), event["note"].get<std::string>());
  }
  Result<http::ResponseHead> stream(const http::Request&, const http::Limits&, http::BodySink&,
                                    std::stop_token) override {
    return Error(ErrorKind::kUnavailable, "events are not watched");
  }

 private:
  const Answer answer_;
};

class EventWriterTest : public testing::Test {
 protected:
  void emit(const std::string& name_space, const std::string& note) {
    writer_.emit({.name_space = name_space, .name = "job", .uid = name_space},
                 {.reason = "R", .message = note});
  }
  Words step() {
    written_.clear();
    writer_.step({});
    return written_;
  }
  http::Response answer(const std::string& name_space, const std::string& note) {
    written_.push_back(note);
    if (name_space == "hangs") clock_.advance(10s);
    if (name_space == "busy" && refusals_-- > 0)
      return {.status = 429, .headers = {{"Retry-After", "3"}}, .body = "{}"};
    return {.status = name_space == "hangs" ? 500 : 201, .headers = {}, .body = "{}"};
  }

  Words written_;
  int refusals_ = 1;
  ManualClock clock_{Timestamp{1h}};
  ApiClient client_{
      {.server = "https://127.0.0.1:1"},
      clock_,
      {},
      nullptr,
      std::make_unique<TransportTo>([this](const std::string& name_space, const std::string& note) {
        return answer(name_space, note);
      })};
  EventWriter writer_{client_, clock_, "test", Logger(clock_, {})};
};

TEST_F(EventWriterTest, NamespacesTakeTurns) {
  for (const char* note : {"a1", "a2", "a3"}) emit("a", note);
  emit("b", "b1");
  EXPECT_EQ(step(), (Words{"a1", "b1", "a2", "a3"}));
}

// A webhook that hangs: ten seconds of each hundred.
TEST_F(EventWriterTest, ANamespaceWhoseEventsTakeLongRests) {
  for (const char* note : {"h1", "h2"}) emit("hangs", note);
  for (const char* note : {"b1", "b2"}) emit("b", note);
  EXPECT_EQ(step(), (Words{"h1", "b1", "b2"}));
  clock_.advance(89s);
  EXPECT_EQ(step(), Words{});
  clock_.advance(1s);
  EXPECT_EQ(step(), Words{"h2"});
}

TEST_F(EventWriterTest, AnEventIsRepeatedOnceAfterThePauseThatTheServerAsksFor) {
  emit("busy", "e1");
  emit("b", "b1");
  EXPECT_EQ(step(), (Words{"e1", "b1"}));
  clock_.advance(2s);
  EXPECT_EQ(step(), Words{});
  clock_.advance(1s);
  EXPECT_EQ(step(), Words{"e1"});
  refusals_ = 2;
  emit("busy", "e2");
  EXPECT_EQ(step(), Words{"e2"});
  clock_.advance(3s);
  EXPECT_EQ(step(), Words{"e2"});
  clock_.advance(3s);
  EXPECT_EQ(step(), Words{}) << "it was repeated once";
}

}  // namespace
}  // namespace ratoon::runtime::event_writer_test
