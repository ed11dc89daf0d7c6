#include "base/contract/fields.h"

#include <string>

#include <gtest/gtest.h>

#include "base/contract/parse_json.h"

namespace ratoon::fields_test {
namespace {

using nlohmann::json;

TEST(Fields, KeepTheFirstComplaintOfAWholeTree) {
  const json object = {{"child", {{"name", 5}}}, {"count", -1}};
  std::optional<Error> complaint;
  Fields f(object, "job", complaint);
  EXPECT_TRUE(f.is_sound());
  EXPECT_EQ(f.object("child").text("name", 10), "");
  EXPECT_EQ(f.whole("count", 10), 0u);
  EXPECT_FALSE(f.is_sound());
  EXPECT_EQ(complaint->message(), "job.child.name must be a text in quotes of at most 10 bytes, found 5");
}

TEST(Fields, TakeValuesAtTheirBounds) {
  const json object = {
      {"text", "12345"}, {"count", 7U}, {"seconds", 315360000}, {"list", {1, 2}}, {"flag", true}};
  std::optional<Error> complaint;
  Fields f(object, "", complaint);
  EXPECT_EQ(f.text("text", 5), "12345");
  EXPECT_EQ(f.whole("count", 7), 7u);
  EXPECT_EQ(f.seconds("seconds"), 315360000.0);
  EXPECT_EQ(f.list("list", 2).size(), 2u);
  EXPECT_TRUE(f.flag("flag"));
  EXPECT_FALSE(f.flag("absent"));
  EXPECT_TRUE(f.list("absent", 2).empty());
  EXPECT_EQ(f.optional_text("absent", 2), "");
  EXPECT_FALSE(complaint.has_value());
}

TEST(Fields, ShowOnlyTheBeginningOfWhatTheyFound) {
  const json object = {{"name", std::string(5000, 'x')}};
  std::optional<Error> complaint;
  static_cast<void>(Fields(object, "", complaint).text("name", 10));
  EXPECT_EQ(complaint->message(),
            "name must be a text of at most 10 bytes, found \"" + std::string(56, 'x') + "...");
}

// A document with a field twice is understood as other readers do.
TEST(ParseJson, TheLastOfTwoEqualNamesCounts) {
  const auto parsed = parse_json(R"({"a":1,"a":2})", 100, 2);
  ASSERT_TRUE(parsed);
  EXPECT_EQ((*parsed)["a"], 2);
}

TEST(ParseJson, TakesSoManyLevelsAndNoMore) {
  EXPECT_TRUE(parse_json(R"({"a":[{"b":1}]})", 100, 3));
  for (const char* text : {R"({"a":[{"b":1}]})", "[[[]]]", R"([1,{"a":{}}])"}) {
    const auto parsed = parse_json(text, 100, 2);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message(), "JSON is nested deeper than 2 levels");
  }
}

TEST(ParseJson, BuildsWhatTheLibraryBuilds) {
  for (const std::string text : {"null", "[]", "{}", R"([1,-2,3.5,1e400,true,false,"\u00e9\n",null])",
                                 R"({"a":{"b":[{},[[]],{"c":""}]},"d":0})", "{", "[1,", "[1]]", "nul",
                                 R"({"a")", R"({"a":1,})", "\"\xff\"", ""}) {
    const auto parsed = parse_json(text, 100, 8);
    const auto expected = json::parse(text, nullptr, /*allow_exceptions=*/false);
    EXPECT_EQ(parsed.has_value(), !expected.is_discarded()) << text;
    if (parsed) {
      EXPECT_EQ(*parsed, expected) << text;
    }
  }
}

TEST(ParseJson, ListsOfANameAreReadOverWhereverTheyStand) {
  const std::string text = R"({"x":[{"a":1},[2]],"metadata":{"x":[],"name":"n","y":{"x":{"kept":[1]}}},)"
                           R"("z":[["x"],{"x":[[{"x":[]}]],"b":"x"}]})";
  const auto parsed = parse_json_without_list("x", text, 1000, 8);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->dump(), R"({"metadata":{"name":"n","y":{"x":{"kept":[1]}}},"z":[["x"],{"b":"x"}]})");
  EXPECT_EQ(parse_json_without_list("x", R"({"x":[[[[1]]]],"y":1})", 1000, 1)->dump(), R"({"y":1})");
  EXPECT_FALSE(parse_json_without_list("x", R"({"x":[1,})", 1000, 4)) << "and it must be JSON";
  EXPECT_EQ(*parse_json(text, 1000, 8), json::parse(text));
}

TEST(ParseJson, WhatIsTooDeepHidesNothingElseWhereItMayBeLeftOut) {
  const std::string text = R"({"items":[{"a":{"b":[1,{}],"c":2}},[[["x"]],3],{"d":4}]})";
  EXPECT_EQ(parse_json_without_list("", text, 1000, 4)->dump(),
            R"({"items":[{"a":{"b":null,"c":2}},[[null],3],{"d":4}]})");
  EXPECT_EQ(parse_json_without_list("", text, 1000, 5)->dump(),
            R"({"items":[{"a":{"b":[1,null],"c":2}},[[["x"]],3],{"d":4}]})");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(parse_json_without_list("", "[" + deep + ",1]", 1'000'000, 2)->dump(), "[[null],1]");
  EXPECT_FALSE(parse_json_without_list("", deep + "]", 1'000'000, 2)) << "and it must be JSON";
  EXPECT_FALSE(parse_json(text, 1000, 4));
}

// The sentence goes into a refusal, which has room for 1024 bytes and must be text.
TEST(ParseJson, ComplainsBrieflyAndInUtf8) {
  for (const std::string& text :
       {"\"" + std::string(50000, 'x'), "[\"" + std::string(3000, '\xc3') + "\"]"}) {
    const auto parsed = parse_json(text, 100'000, 8);
    ASSERT_FALSE(parsed);
    EXPECT_LT(parsed.error().message().size(), 300u);
    EXPECT_NO_THROW(static_cast<void>(json(parsed.error().message()).dump())) << "not UTF-8";
  }
}

}  // namespace
}  // namespace ratoon::fields_test
