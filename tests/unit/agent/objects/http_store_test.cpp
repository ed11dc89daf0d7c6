// Web servers over real connections: retries, resumed downloads, and the text of each error.
#include "agent/src/objects/remote/retry_loop.h"
#include "agent/src/objects/sinks.h"
#include "tests/unit/agent/objects/remote_store_fixture.h"

namespace ratoon::objects::http_store_test {
namespace {

using namespace std::chrono_literals;
using ratoon::test::reply;
using ratoon::test::ScriptedHttp;
using ratoon::test::ScriptedReply;
using ratoon::test::ScriptedRequest;
using testing::ElementsAre;
using testing::HasSubstr;

using HttpStoreTest = test::RemoteStoreTest;

ScriptedReply part(const std::string& bytes, std::size_t begin, std::size_t total,
                   const std::string& etag = "\"v1\"") {
  return reply(206, bytes,
               "ETag: " + etag + "\r\nContent-Range: bytes " + std::to_string(begin) + "-" +
                   std::to_string(begin + bytes.size() - 1) + "/" + std::to_string(total) + "\r\n");
}

TEST_F(HttpStoreTest, ReadsAFile) {
  const ScriptedHttp server([](const ScriptedRequest& request, int) {
    if (request.method == "HEAD")
      return ScriptedReply{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"v1\"\r\n\r\n"};
    if (!request.header("range").empty()) return part("234", 2, 10);
    return reply(200, "0123456789", "ETag: \"v1\"\r\n");
  });
  const auto store = web(server, "?sig=geheim");
  EXPECT_EQ(get(*store).value(), (ObjectInfo{"a b/c+d", 10, "\"v1\""}));
  EXPECT_EQ(sink_.bytes, "0123456789");
  EXPECT_EQ(sink_.size_bytes, 10u);
  EXPECT_EQ(get(*store, ByteRange{2, 5}).value(), (ObjectInfo{"a b/c+d", 10, "\"v1\""}));
  EXPECT_EQ(sink_.bytes, "234");
  EXPECT_EQ(store->head("a b/c+d").value(), (ObjectInfo{"a b/c+d", 10, "\"v1\""}));
  EXPECT_EQ(store->uri(), server.url() + "/data");
  EXPECT_EQ(server.requests().at(0).target, "/data/a%20b/c%2Bd?sig=geheim");
  EXPECT_EQ(server.requests().at(1).header("range"), "bytes=2-4");
}

TEST_F(HttpStoreTest, IsForReading) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(200, ""); });
  const auto store = web(server);
  for (const Error& error :
       {store->put("a", "x").error(), store->list("").error(), store->remove("a").error()}) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalid);
    EXPECT_THAT(error.message(), HasSubstr("web servers are for reading"));
  }
  EXPECT_EQ(server.requests().size(), 0u);
}

// Bytes that show their position.
std::string numbered(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + ",";
  return bytes.substr(0, size);
}

// The replies of a good server, whose connection ends after `bytes_max` bytes of a body.
ScriptedReply cut_after(const ScriptedRequest& request, const std::string& object, std::size_t bytes_max,
                        const std::string& etag = "\"v1\"") {
  std::size_t begin = 0;
  std::size_t end = object.size();
  const std::string range = request.header("range");
  if (!range.empty()) {
    const std::size_t dash = range.find('-');
    begin = std::stoul(range.substr(6, dash - 6));
    if (dash + 1 < range.size()) end = std::min(end, std::stoul(range.substr(dash + 1)) + 1);
  }
  const std::string all = object.substr(begin, end - begin);
  ScriptedReply whole =
      range.empty() ? reply(200, all, "ETag: " + etag + "\r\n") : part(all, begin, object.size(), etag);
  if (all.size() <= bytes_max) return whole;
  whole.bytes.resize(whole.bytes.size() - (all.size() - bytes_max));
  whole.then = ScriptedReply::kCut;
  return whole;
}

std::size_t begin_of(const ScriptedRequest& request) {
  return request.header("range").empty() ? 0 : std::stoul(request.header("range").substr(6));
}

// The library hands over pieces of up to 64 KiB, so that much may be lost with a connection.
constexpr std::size_t kObject = 1'000'000;
constexpr std::size_t kCut = 300'000;

TEST_F(HttpStoreTest, ACutDownloadGoesOnWhereItStopped) {
  const std::string object = numbered(kObject);
  const ScriptedHttp server([&](const ScriptedRequest& request, int number) {
    if (number == 2) return ScriptedReply{{}, ScriptedReply::kCut};
    return cut_after(request, object, kCut);
  });
  const auto got = get(*web(server));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->size_bytes, kObject);
  EXPECT_TRUE(sink_.bytes == object);
  EXPECT_EQ(sink_.begins, 1);
  const auto requests = server.requests();
  EXPECT_EQ(begin_of(requests.at(1)), begin_of(requests.at(2)));
  for (std::size_t i = 1; i < requests.size(); ++i) {
    EXPECT_GT(begin_of(requests[i]), 200'000u) << i;
    EXPECT_EQ(requests[i].header("if-match"), "\"v1\"");
  }
  EXPECT_GE(requests.size(), 5u);
}

TEST_F(HttpStoreTest, APartThatIsCutGoesOnToo) {
  const std::string object = numbered(kObject);
  const ScriptedHttp server(
      [&](const ScriptedRequest& request, int) { return cut_after(request, object, kCut); });
  ASSERT_TRUE(get(*web(server), ByteRange{100, 700'000}));
  EXPECT_TRUE(sink_.bytes == object.substr(100, 699'900));
  EXPECT_EQ(sink_.begins, 1);
  for (const auto& request : server.requests())
    EXPECT_THAT(request.header("range"), testing::EndsWith("-699999"));
}

TEST_F(HttpStoreTest, ProgressIsNoFailure) {
  options_.attempts_max = 2;
  const std::string object = numbered(kObject);
  const ScriptedHttp server(
      [&](const ScriptedRequest& request, int) { return cut_after(request, object, 100'000); });
  ASSERT_TRUE(get(*web(server)));
  EXPECT_TRUE(sink_.bytes == object);
  EXPECT_GE(server.requests().size(), 10u);
}

TEST_F(HttpStoreTest, AnObjectThatBecameAnotherBeginsAnew) {
  const std::string object = numbered(kObject);
  const std::string other(object.rbegin(), object.rend());  // as long: only its ETag tells
  for (const bool knows_if_match : {true, false}) {
    sink_ = {};
    const ScriptedHttp server([&](const ScriptedRequest& request, int number) {
      if (number == 1) return cut_after(request, object, kCut);
      if (knows_if_match && request.header("if-match") == "\"v1\"") return reply(412, "");
      return cut_after(request, other, kObject * 2, "\"v2\"");
    });
    const auto got = get(*web(server));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->etag, "\"v2\"");
    EXPECT_TRUE(sink_.bytes == other);
    EXPECT_EQ(sink_.begins, 2);
    EXPECT_EQ(server.requests().size(), 3u);
    EXPECT_GT(begin_of(server.requests().at(1)), 0u);
  }
}

TEST_F(HttpStoreTest, AnObjectThatGrewUnderItsETagBeginsAnew) {
  const std::string object = numbered(kObject);
  const std::string longer = object + "and more";
  const ScriptedHttp server([&](const ScriptedRequest& request, int number) {
    return cut_after(request, number == 1 ? object : longer, number == 1 ? kCut : 2 * kObject);
  });
  const auto got = get(*web(server));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(sink_.bytes == longer);
  EXPECT_EQ(sink_.begins, 2);
}

TEST_F(HttpStoreTest, WithoutAStrongETagItBeginsAnew) {
  const std::string object = numbered(kObject);
  for (const std::string etag : {"", "W/\"v1\""}) {
    sink_ = {};
    const ScriptedHttp server([&](const ScriptedRequest& request, int number) {
      EXPECT_EQ(request.header("range"), "");
      return cut_after(request, object, number == 1 ? kCut : kObject, etag);
    });
    ASSERT_TRUE(get(*web(server)));
    EXPECT_TRUE(sink_.bytes == object);
    EXPECT_EQ(sink_.begins, 2);
  }
}

TEST_F(HttpStoreTest, AServerThatIgnoresRangesGivesTheWholeAgain) {
  const std::string object = numbered(kObject);
  const ScriptedHttp server([&](const ScriptedRequest& request, int number) {
    ScriptedRequest deaf = request;
    deaf.headers.erase("range");
    return cut_after(deaf, object, number == 1 ? kCut : kObject);
  });
  const auto store = web(server);
  ASSERT_TRUE(get(*store));
  EXPECT_TRUE(sink_.bytes == object);
  EXPECT_EQ(sink_.begins, 2);
  EXPECT_THAT(get(*store, ByteRange{2, 5}).error().message(), HasSubstr("use a server that supports Range"));
}

TEST_F(HttpStoreTest, ALengthThatAlwaysLiesIsGivenUp) {
  options_.attempts_max = 4;
  const std::string object = numbered(kCut);
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (!request.header("range").empty()) return reply(416, "");
    return reply(200, object, "ETag: \"v1\"\r\n", kObject);
  });
  const auto got = get(*web(server));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message(), HasSubstr("failed 4 times"));
  EXPECT_LE(server.requests().size(), 6u);
}

TEST_F(HttpStoreTest, AnAnswerForOtherBytesIsRefused) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return part("345", 3, 10); });
  const auto got = get(*web(server), ByteRange{2, 5});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(got.error().message(),
              HasSubstr("was asked for the bytes from 2 on and answered with 'bytes 3-5/10'"));
  EXPECT_EQ(sink_.begins, 0);
}

TEST_F(HttpStoreTest, MoreBytesThanWereAnnouncedAreRefused) {
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    return reply(206, "23456789", "ETag: \"v1\"\r\nContent-Range: bytes 2-4/10\r\n");
  });
  const auto got = get(*web(server), ByteRange{2, 5});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(got.error().message(), HasSubstr("sends more than the 3 bytes that it announced"));
}

TEST_F(HttpStoreTest, AnAnswerWithoutAnObjectIsNone) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(203, "of a proxy"); });
  EXPECT_THAT(get(*web(server)).error().message(),
              HasSubstr("answered with status 203, expected status 200"));
  EXPECT_EQ(sink_.begins, 0);
}

TEST_F(HttpStoreTest, BusyServersAreAskedAgainAndNotBeforeTheySay) {
  const ScriptedHttp server([](const ScriptedRequest&, int number) {
    if (number == 1) return reply(503, "", "Retry-After: 7\r\n");
    if (number == 2) return reply(429, "");
    if (number == 3) return reply(500, "");
    return reply(200, "here");
  });
  ASSERT_TRUE(get(*web(server)));
  EXPECT_EQ(sink_.bytes, "here");
  EXPECT_THAT(world_.pauses, ElementsAre(7s, 200ms, 400ms));
}

TEST_F(HttpStoreTest, AttemptsAndTimeAreBounded) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(503, ""); });
  const auto store = web(server);
  const auto eight = get(*store);
  ASSERT_FALSE(eight);
  EXPECT_EQ(eight.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(eight.error().message(),
            "reading " + server.url() + "/data/a b/c+d failed 8 times within 12.7 s; the last failure: GET " +
                server.url() + "/data/a%20b/c%2Bd was answered with status 503");
  EXPECT_EQ(server.requests().size(), 8u);

  options_.object_seconds = 5;
  options_.attempts_max = 1'000;
  const auto timely = get(*web(server));
  ASSERT_FALSE(timely);
  EXPECT_EQ(timely.error().kind(), ErrorKind::kTimeout);
  EXPECT_THAT(timely.error().message(), HasSubstr("within 5.0 s"));
  EXPECT_THAT(timely.error().message(), HasSubstr("status 503"));
}

TEST_F(HttpStoreTest, NoPauseGoesBeyondTheDeadline) {
  options_.object_seconds = 5;
  const ScriptedHttp server(
      [](const ScriptedRequest&, int) { return reply(503, "", "Retry-After: 60\r\n"); });
  const auto got = get(*web(server));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kTimeout);
  EXPECT_THAT(got.error().message(),
              HasSubstr("cannot be done within 5.0 s, since the next attempt is due in 60.0 s"));
  EXPECT_THAT(world_.pauses, ElementsAre()) << "nothing is waited for in vain";
}

TEST_F(HttpStoreTest, AnAttemptHasWhatIsLeftOfTheTime) {
  options_.object_seconds = 5;
  options_.connect_seconds = 2;
  options_.silence_seconds = 3;
  const HttpDependencies dependencies = world_.dependencies();
  const RequestTimeouts timeouts = timeouts_of(options_);
  const RetryLoop attempts(dependencies, timeouts, "reading", {});
  EXPECT_EQ(attempts.limits().total, 5s);
  world_.clock->advance(4s);
  EXPECT_EQ(attempts.limits().total, 1s);
  EXPECT_EQ(attempts.limits().connect, 2s);
  EXPECT_EQ(attempts.limits().silence, 3s);
  world_.clock->advance(4s);
  EXPECT_EQ(attempts.limits().total, 1ms) << "0 would be no limit";
}

TEST_F(HttpStoreTest, ASlowServerIsLeftAtTheDeadline) {
  options_.object_seconds = 0.3;
  world_.clock = nullptr;
  auto dependencies = world_.dependencies();
  dependencies.clock = std::make_shared<SystemClock>();
  dependencies.pause = [](Duration, const std::stop_token&) { return true; };
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    auto slow = reply(200, "0", "ETag: \"v1\"\r\n", 10);
    slow.then = ScriptedReply::kHang;
    return slow;
  });
  const auto store =
      open_remote_store_with(parse_store_uri(server.url()).value(), options_, dependencies).value();
  const auto got = store->get("a", sink_);  // the server would hang for ever
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kTimeout);
  EXPECT_THAT(got.error().message(), HasSubstr(server.url() + "/a was not done within 0.3 s"));
}

TEST_F(HttpStoreTest, WhatCannotPassIsNotTriedAgain) {
  for (const auto& [status, kind] : {std::pair(404, ErrorKind::kNotFound),
                                     {403, ErrorKind::kPermissionDenied},
                                     {400, ErrorKind::kInvalid}}) {
    const ScriptedHttp server([status = status](const ScriptedRequest&, int) { return reply(status, ""); });
    const auto store = web(server);
    EXPECT_EQ(get(*store).error().kind(), kind);
    EXPECT_THAT(
        store->head("x").error().message(),
        HasSubstr("HEAD " + server.url() + "/data/x was answered with status " + std::to_string(status)));
    EXPECT_EQ(server.requests().size(), 2u);
  }
  EXPECT_EQ(sink_.begins, 0) << "the page of an error is no object";
}

TEST_F(HttpStoreTest, NobodyThereIsTriedAgainAndNamed) {
  options_.attempts_max = 3;
  std::string url;
  {
    const ScriptedHttp closed([](const ScriptedRequest&, int) { return reply(200, ""); });
    url = closed.url();
  }
  const auto store =
      open_remote_store_with(parse_store_uri(url).value(), options_, world_.dependencies()).value();
  const auto got = store->get("a", sink_);
  EXPECT_EQ(got.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(got.error().message(), HasSubstr("reading " + url + "/a failed 3 times"));
}

TEST_F(HttpStoreTest, FollowsRedirections) {
  const ScriptedHttp server([](const ScriptedRequest& request, int) {
    if (request.target == "/data/a%20b/c%2Bd")
      return reply(302, "<html>", "Location: /elsewhere?token=geheim\r\n");
    if (request.target == "/data/loop") return reply(301, "", "Location: loop\r\n");
    if (request.target == "/data/ftp") return reply(301, "", "Location: ftp://h/x\r\n");
    return reply(200, "there");
  });
  const auto store = web(server);
  ASSERT_TRUE(get(*store));
  EXPECT_EQ(sink_.bytes, "there");
  EXPECT_THAT(world_.pauses, ElementsAre());
  EXPECT_THAT(store->get("loop", sink_).error().message(), HasSubstr("redirected too often"));
  EXPECT_THAT(store->get("ftp", sink_).error().message(),
              HasSubstr("leads to 'ftp://h/x', which is not followed"));
}

TEST_F(HttpStoreTest, TheSinksErrorIsFinal) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(200, "0123456789"); });
  MemorySink small(4);
  const auto got = web(server)->get("a", small);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kCorrupted);
  EXPECT_EQ(got.error().message(), "reading " + server.url() +
                                       "/data/a: the object is longer than the 4 bytes that " +
                                       "were expected; check the object, or the index that states its size");
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpStoreTest, StopsWhenItIsTold) {
  std::stop_source stop;
  const ScriptedHttp server([&](const ScriptedRequest&, int) {
    stop.request_stop();
    return reply(503, "");
  });
  const auto got = web(server)->get("a", sink_, {.stop = stop.get_token()});
  EXPECT_EQ(got.error().kind(), ErrorKind::kCancelled);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpStoreTest, AReplyWithoutALengthEndsWhereItEnds) {
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    return ScriptedReply{
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n2\r\n45\r\n0\r\n\r\n"};
  });
  EXPECT_EQ(get(*web(server)).value().size_bytes, 6u);
  EXPECT_EQ(sink_.bytes, "012345");
}

}  // namespace
}  // namespace ratoon::objects::http_store_test
