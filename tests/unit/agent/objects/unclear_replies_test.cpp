// Servers and proxies that give too little information about an object, or impossible values: nothing follows
// from them, least of all that the object is damaged.
#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"
#include "tests/unit/agent/objects/remote_store_fixture.h"

namespace ratoon::objects::unclear_replies_test {
namespace {

using ratoon::test::reply;
using ratoon::test::ScriptedHttp;
using ratoon::test::ScriptedReply;
using ratoon::test::ScriptedRequest;
using testing::HasSubstr;

class UnclearReplies : public objects::test::RemoteStoreTest {
 protected:
  static ScriptedReply head_without_length() {
    return ScriptedReply{.bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
                         .then = ScriptedReply::kCut};
  }
  static ScriptedReply first_byte(const std::string& total) {
    return reply(206, "x", "Content-Range: bytes 0-0/" + total + "\r\nETag: \"v1\"\r\n");
  }
};

TEST_F(UnclearReplies, AHeadWithoutALengthLeavesItToTheFirstByte) {
  const ScriptedHttp server([](const ScriptedRequest& request, int) {
    return request.method == "HEAD" ? head_without_length() : first_byte("1234");
  });
  for (const auto& store : {s3(server), web(server)}) {
    const auto found = store->head("k");
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, (ObjectInfo{.key = "k", .size_bytes = 1234, .etag = "\"v1\""}));
  }
}

TEST_F(UnclearReplies, ALengthThatNothingTellsIsUnknown) {
  std::string total = "*";
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (request.method == "HEAD") return head_without_length();
    return total.empty() ? reply(200, "all of it") : first_byte(total);
  });
  for (const char* const said : {"*", ""}) {
    total = said;
    for (const auto& store : {s3(server), web(server)}) {
      const auto found = store->head("k");
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error().kind(), ErrorKind::kUnavailable);
      EXPECT_THAT(found.error().message(), HasSubstr("does not state the object's size"));
    }
  }
}

TEST_F(UnclearReplies, AreNoDamageOfACheckpoint) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (request.method == "HEAD")
      return ScriptedReply{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"};
    return reply(206, "x", "Content-Range: bytes 7-7/100\r\n");  // it was asked for the first byte
  });
  const checkpoint::ObjectStoreDisk disk(s3(server));
  const auto manifest = checkpoint::read_manifest(disk, {.attempt = Attempt(1), .step = Step(10)});
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(manifest.error().message(), HasSubstr("was asked for the bytes from 0 on"));
}

// With status 200, as sign-in pages come, and with others, as proxies send them.
TEST_F(UnclearReplies, APageInPlaceOfAnObjectSaysNothingOfIt) {
  const std::string page = "<!DOCTYPE html><html><body>Please sign in</body></html>";
  int status = 200;
  bool is_page_for_head = true;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (request.method == "HEAD" && !is_page_for_head) return reply(200, "", "ETag: \"v1\"\r\n", 100);
    return reply(status, page, "Content-Type: text/html; charset=utf-8\r\nETag: \"page\"\r\n");
  });
  for (const bool is_first : {true, false}) {
    is_page_for_head = is_first;
    for (const int one : {200, 206, 403, 404}) {
      status = one;
      const checkpoint::ObjectStoreDisk disk(s3(server));
      const auto manifest = checkpoint::read_manifest(disk, {.attempt = Attempt(1), .step = Step(10)});
      ASSERT_FALSE(manifest) << status;
      EXPECT_EQ(manifest.error().kind(), ErrorKind::kUnavailable) << manifest.error().message();
      EXPECT_THAT(manifest.error().message(), HasSubstr("check for a proxy or sign-in page in between"));
    }
  }
}

// A proxy that answers everything with its page has stored nothing, and created nothing.
TEST_F(UnclearReplies, APageInReplyToAPutStoresNothing) {
  for (const int status : {200, 201, 412}) {
    const ScriptedHttp server([status](const ScriptedRequest&, int) {
      return reply(status, "<html>", "Content-Type: text/html\r\n");
    });
    for (const bool replaces : {true, false}) {
      const auto put = s3(server)->put("k", "x", {.replaces = replaces});
      ASSERT_FALSE(put) << status;
      EXPECT_EQ(put.error().kind(), ErrorKind::kUnavailable) << put.error().message();
      EXPECT_THAT(put.error().message(), HasSubstr("check for a proxy or sign-in page in between"));
    }
    const auto removed = s3(server)->remove("k");
    ASSERT_FALSE(removed) << status;
    EXPECT_EQ(removed.error().kind(), ErrorKind::kUnavailable) << removed.error().message();
  }
}

// An object whose own content is a page is an object like any other.
TEST_F(UnclearReplies, APageThatS3HoldsIsAnObject) {
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    return reply(200, "<html>", "Content-Type: text/html\r\nx-amz-request-id: 7\r\n");
  });
  ASSERT_TRUE(s3(server)->get("index.html", sink_));
  EXPECT_EQ(sink_.bytes, "<html>");
}

}  // namespace
}  // namespace ratoon::objects::unclear_replies_test
