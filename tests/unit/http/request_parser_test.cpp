#include "base/http/server/request_parser.h"

#include <gtest/gtest.h>

namespace ratoon::http::request_parser_test {
namespace {

using State = RequestParser::State;

TEST(RequestParser, LeavesTheNextRequestAlone) {
  RequestParser parser(1'000, 1'000);
  std::string bytes = "PUT /p?q HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET /next";
  ASSERT_EQ(parser.feed(bytes), State::kDone);
  EXPECT_EQ(bytes, "GET /next");
  const auto request = parser.take_request();
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.path, "/p");
  EXPECT_EQ(request.query, "q");
  EXPECT_EQ(request.body, "abc");
}

TEST(RequestParser, ComesToTheSameWhereverTheBytesAreCut) {
  const std::string whole =
      "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: v\r\n\r\n";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    RequestParser parser(1'000, 1'000);
    std::string bytes = whole.substr(0, cut);
    ASSERT_NE(parser.feed(bytes), State::kRefused) << cut;
    bytes += whole.substr(cut);
    ASSERT_EQ(parser.feed(bytes), State::kDone) << cut;
    EXPECT_EQ(parser.take_request().body, "abc");
  }
}

// They come after the head was checked, and after the caller was examined.
TEST(RequestParser, WhatComesBehindTheBodyIsNoHeader) {
  RequestParser parser(1'000, 1'000);
  std::string bytes =
      "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
      "Host: other\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(parser.feed(bytes), State::kDone);
  EXPECT_TRUE(parser.keeps_alive());
  const auto request = parser.take_request();
  EXPECT_EQ(request.headers.size(), 2u);
  EXPECT_EQ(request.headers.get("Host"), "h");
  EXPECT_FALSE(request.headers.contains("Authorization"));
}

TEST(RequestParser, ALineOfTheBodyIsTooLongHoweverItsBytesCome) {
  const std::string head = "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& body : {"3;" + std::string(200, 'x') + "\r\nabc\r\n0\r\n\r\n",
                           "0\r\nT: " + std::string(200, 'x') + "\r\n\r\n"}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{50}, std::size_t{1'000}}) {
      RequestParser parser(100, 1'000);
      const std::string whole = head + body;
      std::string bytes;
      auto state = State::kInHead;
      for (std::size_t at = 0; at < whole.size() && state < State::kDone; at += piece) {
        bytes += whole.substr(at, piece);
        state = parser.feed(bytes);
      }
      EXPECT_EQ(state, State::kRefused) << piece;
      EXPECT_EQ(parser.refusal().status, 431) << piece;
    }
  }
}

TEST(RequestParser, RefusesAtItsLimits) {
  const auto refusal_of = [](std::string bytes) {
    RequestParser parser(100, 10);
    return parser.feed(bytes) == State::kRefused ? parser.refusal().status : 0;
  };
  EXPECT_EQ(refusal_of("GET /" + std::string(200, 'a')), 431);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(200, 'a')), 431);
  EXPECT_EQ(refusal_of("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n"), 413);
  EXPECT_EQ(refusal_of("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n"), 0);
  EXPECT_EQ(refusal_of("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk"),
            413);
  EXPECT_EQ(refusal_of("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\nabc"), 400);
}

}  // namespace
}  // namespace ratoon::http::request_parser_test
