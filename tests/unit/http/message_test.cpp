#include "base/http/message.h"

#include <gtest/gtest.h>

#include "base/http/server/reply_text.h"
#include "base/http/syntax.h"

namespace ratoon::http::message_test {
namespace {

TEST(Headers, CompareNamesWithoutCase) {
  Headers headers{{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
  EXPECT_EQ(headers.get("content-TYPE"), "a");
  EXPECT_EQ(headers.get("X"), "1");
  EXPECT_FALSE(headers.contains("Y"));
  headers.set("x", "3");
  EXPECT_EQ(headers.size(), 2);
  EXPECT_EQ(headers.get("X"), "3");
}

TEST(Syntax, KnowsTokensValuesAndLists) {
  EXPECT_TRUE(is_token("If-None-Match"));
  for (const auto* bad : {"", "a b", "a:", "a\r", "\xc3\xa4"}) EXPECT_FALSE(is_token(bad)) << bad;
  EXPECT_TRUE(is_field_value("a\tb \xc3\xa4"));
  for (const auto* bad : {"a\r", "a\n", "\x7f"}) EXPECT_FALSE(is_field_value(bad)) << bad;
  EXPECT_TRUE(is_digits("0123"));
  for (const auto* bad : {"", "+1", "1,1", " 1"}) EXPECT_FALSE(is_digits(bad)) << bad;
}

TEST(ReplyText, WritesWholeRepliesAndChunks) {
  EXPECT_EQ(write_reply({.status = 404, .headers = {{"X", "y"}}, .body = "none"}, {}),
            "HTTP/1.1 404 Not Found\r\nX: y\r\nContent-Length: 4\r\n\r\nnone");
  EXPECT_EQ(write_reply({.status = 204}, {.keeps_alive = false}),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(write_chunk("sixteen bytes ab"), "10\r\nsixteen bytes ab\r\n");
}

TEST(ReplyText, KeepsFramingToItself) {
  const auto text =
      write_reply({.headers = {{"content-length", "9"}, {"Transfer-Encoding", "chunked"}}, .body = "b"}, {});
  EXPECT_EQ(text, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
  EXPECT_EQ(write_reply({.headers = {{"X", "a\r\nY: b"}}}, {}).substr(0, 12), "HTTP/1.1 500");
  EXPECT_EQ(write_reply({.status = 42}, {}).substr(0, 12), "HTTP/1.1 500");
}

}  // namespace
}  // namespace ratoon::http::message_test
