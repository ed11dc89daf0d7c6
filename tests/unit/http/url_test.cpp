#include "base/http/url.h"

#include <gtest/gtest.h>

namespace ratoon::http::url_test {
namespace {

TEST(Url, TakesItsPartsAsTheyAreWritten) {
  const auto url = parse_url("https://api.example:6443/a%2Fb//c?x=%2B&y=");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_TRUE(url->is_https);
  EXPECT_EQ(url->host, "api.example");
  EXPECT_EQ(url->port, 6443);
  EXPECT_EQ(url->target, "/a%2Fb//c?x=%2B&y=");
  EXPECT_EQ(url->host_header, "api.example:6443");
  EXPECT_EQ(url->shown, "https://api.example:6443/a%2Fb//c");
}

TEST(Url, FillsInWhatIsLeftOut) {
  EXPECT_EQ(parse_url("http://h")->port, 80);
  EXPECT_EQ(parse_url("https://h")->port, 443);
  EXPECT_EQ(parse_url("http://h")->target, "/");
  EXPECT_EQ(parse_url("http://h?q=1")->target, "/?q=1");
}

TEST(Url, ReadsIpv6Addresses) {
  const auto url = parse_url("http://[::1]:8080/p");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->host_header, "[::1]:8080");
  EXPECT_EQ(parse_url("http://[::1]/p")->port, 80);
}

TEST(Url, NamesNoSecretWhenItRefuses) {
  for (const auto* text : {"http://user:hidden@h/", "http://h:0/?token=hidden", "ftp://h/?token=hidden"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().kind(), ErrorKind::kInvalid);
    EXPECT_EQ(url.error().message().find("hidden"), std::string::npos) << url.error().message();
  }
}

}  // namespace
}  // namespace ratoon::http::url_test
