#include "operator/kube/watch_decoder.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ratoon::kube::watch_decoder_test {
namespace {

std::string event(const std::string& type, const std::string& name) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name + "\"}}}\n";
}

std::vector<std::string> decode(const std::string& stream, std::size_t piece,
                                std::size_t line_bytes_max = 200) {
  std::vector<std::string> seen;
  WatchDecoder decoder(line_bytes_max);
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    decoder.feed(std::string_view(stream).substr(at, piece), [&](WatchEvent e) {
      if (e.kind == WatchEventKind::kBroken)
        seen.push_back("broken");
      else
        seen.push_back(std::to_string(static_cast<int>(e.kind)) +
                       e.object["metadata"]["name"].get<std::string>());
    });
  }
  return seen;
}

TEST(WatchDecoder, EventsAreTheSameHoweverTheyAreCut) {
  const std::string stream = event("ADDED", "a") + "\r\n\n" + event("MODIFIED", "b") + "no event\n" +
                             event("DELETED", "c") + event("ADDED", std::string(300, 'x')) +
                             event("BOOKMARK", "d") + event("ERROR", "e") + event("INVENTED", "f") +
                             R"({"type":"ADDED","object":5})" + "\n" + event("ADDED", "g");
  const std::vector<std::string> expected = {"0a", "1b", "broken", "2c",     "broken",
                                             "3d", "4e", "broken", "broken", "0g"};
  for (std::size_t piece = 1; piece <= stream.size(); ++piece)
    ASSERT_EQ(decode(stream, piece), expected) << piece;
}

TEST(WatchDecoder, WhoWroteWhichFieldIsNotRead) {
  nlohmann::json object;
  WatchDecoder().feed(
      R"({"type":"ADDED","object":{"metadata":{"managedFields":[{"manager":"m"}],"name":"a"}}})"
      "\n",
      [&](WatchEvent e) { object = std::move(e.object); });
  EXPECT_EQ(object, nlohmann::json({{"metadata", {{"name", "a"}}}}));
}

TEST(WatchDecoder, WhatHasNoEndIsNoEvent) {
  std::string half = event("ADDED", "a");
  half.pop_back();
  EXPECT_TRUE(decode(half, 1000).empty());
}

TEST(WatchDecoder, ALineAtItsBoundIsTaken) {
  const std::string line = event("ADDED", "a");
  EXPECT_EQ(decode(line, 1000, line.size() - 1), std::vector<std::string>({"0a"}));
  EXPECT_EQ(decode(line, 1000, line.size() - 2), std::vector<std::string>({"broken"}));
}

}  // namespace
}  // namespace ratoon::kube::watch_decoder_test
