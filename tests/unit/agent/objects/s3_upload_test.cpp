// Objects in parts, against a server with the replies that a real one gives only in rare cases. The usual
// replies of a real server are in tests/integration/object_upload_test.py.
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "agent/src/objects/s3/protocol/checksum_text.h"
#include "agent/src/objects/sources.h"
#include "base/core/crc32c.h"
#include "tests/unit/agent/objects/remote_store_fixture.h"

namespace ratoon::objects::s3_upload_test {
namespace {

using ratoon::test::reply;
using ratoon::test::ScriptedHttp;
using ratoon::test::ScriptedReply;
using ratoon::test::ScriptedRequest;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr const char* kMark = "x-amz-meta-ratoon-writer";

std::string refusal(const std::string& code) {
  return "<Error><Code>" + code + "</Code><Message>As S3 says.</Message></Error>";
}

bool is_begin(const ScriptedRequest& request) {
  return request.method == "POST" && request.target.ends_with("?uploads=");
}
bool is_complete(const ScriptedRequest& request) {
  return request.method == "POST" && !is_begin(request);
}
bool is_part(const ScriptedRequest& request) {
  return request.target.find("partNumber=") != std::string::npos;
}

class S3UploadTest : public test::RemoteStoreTest {
 protected:
  S3UploadTest() : bytes_(11 * kMiB, '\0') {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>((i * 31 >> 5) ^ i >> 20);
    crc_ = crc32c(std::as_bytes(std::span(bytes_)));
  }

  Result<UploadedObject> upload(const ScriptedHttp& server, UploadOptions options = {.replaces = false}) {
    MemorySource source(bytes_);
    options.part_bytes = 5 * kMiB;
    options.threads = 1;
    return s3(server)->upload("k", source, options);
  }
  [[nodiscard]] UploadedObject all() const { return {bytes_.size(), crc_}; }

  // The replies of a good store. Counts the requests.
  ScriptedReply good(const ScriptedRequest& request) {
    if (is_begin(request)) {
      ++begins_;
      mark_ = request.header(kMark);
      return reply(200,
                   "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
                   "x-amz-checksum-type: FULL_OBJECT\r\n");
    }
    if (is_part(request)) {
      ++parts_;
      return reply(200, "", "ETag: \"e" + std::to_string(parts_) + "\"\r\n");
    }
    if (request.method == "DELETE")
      return ++aborts_ > 1 ? reply(404, refusal("NoSuchUpload")) : reply(204, "");
    if (request.method == "HEAD") return stands_there(mark_);
    return reply(200, proof(checksum_text(crc_)));
  }
  [[nodiscard]] static std::string proof(const std::string& checksum) {
    return "<CompleteMultipartUploadResult><ChecksumCRC32C>" + checksum +
           "</ChecksumCRC32C></CompleteMultipartUploadResult>";
  }
  [[nodiscard]] ScriptedReply stands_there(const std::string& mark, const std::string& more = "") const {
    return {"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes_.size()) + "\r\n" + kMark + ": " +
            mark + "\r\n" + more + "\r\n"};
  }

  std::string bytes_;
  std::uint32_t crc_ = 0;
  std::string mark_;
  int begins_ = 0;
  int parts_ = 0;
  int aborts_ = 0;
};

TEST_F(S3UploadTest, SaysEachChecksumAndAsksForTheWhole) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) { return good(request); });
  std::vector<std::uint64_t> stored;
  const auto uploaded =
      upload(server, {.replaces = false, .progress = [&](std::uint64_t now) { stored.push_back(now); }});
  ASSERT_TRUE(uploaded) << uploaded.error().message();
  EXPECT_EQ(*uploaded, all());
  EXPECT_THAT(stored, ElementsAre(5 * kMiB, 10 * kMiB, 11 * kMiB));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 5u);
  EXPECT_EQ(requests[0].target, "/bucket/data/k?uploads=");
  EXPECT_EQ(requests[0].header("x-amz-checksum-algorithm"), "CRC32C");
  EXPECT_EQ(requests[0].header("x-amz-checksum-type"), "FULL_OBJECT");
  std::string sent;
  std::string document = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (int i = 1; i <= 3; ++i) {
    const auto& part = requests[static_cast<std::size_t>(i)];
    EXPECT_EQ(part.target, "/bucket/data/k?partNumber=" + std::to_string(i) + "&uploadId=u");
    const std::string checksum = checksum_text(crc32c(std::as_bytes(std::span(part.body))));
    EXPECT_EQ(part.header("x-amz-checksum-crc32c"), checksum);
    EXPECT_EQ(part.header("x-amz-content-sha256").size(), 64u) << "signed, over plain http as well";
    sent += part.body;
    document += "<Part><ETag>\"e" + std::to_string(i) + "\"</ETag><ChecksumCRC32C>" + checksum +
                "</ChecksumCRC32C><PartNumber>" + std::to_string(i) + "</PartNumber></Part>";
  }
  EXPECT_TRUE(sent == bytes_);
  EXPECT_EQ(requests[4].target, "/bucket/data/k?uploadId=u");
  EXPECT_EQ(requests[4].body, document + "</CompleteMultipartUpload>");
  EXPECT_EQ(requests[4].header("if-none-match"), "*");
  EXPECT_EQ(requests[4].header("x-amz-checksum-crc32c"), checksum_text(crc_));
  ASSERT_TRUE(upload(server, {}));
  EXPECT_EQ(server.requests().at(9).header("if-none-match"), "");
}

// Waits in each read until the wanted number of threads read at once.
class MeetingSource final : public ObjectSource {
 public:
  MeetingSource(std::string_view bytes, std::size_t wanted) : own_(bytes), wanted_(wanted) {}
  std::uint64_t size_bytes() const override { return own_.size_bytes(); }
  Result<void> read(std::uint64_t offset, std::span<char> into) override {
    std::unique_lock lock(mutex_);
    readers_.insert(std::this_thread::get_id());
    came_.notify_all();
    if (!came_.wait_for(lock, std::chrono::minutes(2), [&] { return readers_.size() >= wanted_; }))
      return Error(ErrorKind::kTimeout, "nobody else came");
    return own_.read(offset, into);
  }
  std::size_t readers() const { return readers_.size(); }

 private:
  MemorySource own_;
  const std::size_t wanted_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::set<std::thread::id> readers_;  // guarded by mutex_
};

TEST_F(S3UploadTest, SendsAsManyPartsAtOnceAsItMay) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) { return good(request); });
  for (const auto& [threads, readers] : {std::pair(8u, 3u), {2u, 2u}, {1u, 1u}, {0u, 1u}}) {
    MeetingSource source(bytes_, readers);
    const auto uploaded = s3(server)->upload("k", source, {.part_bytes = 5 * kMiB, .threads = threads});
    ASSERT_TRUE(uploaded) << uploaded.error().message();
    EXPECT_EQ(source.readers(), readers) << "no more than there are parts";
  }
}

TEST_F(S3UploadTest, AnOlderStoreProvesThePartsChecksums) {
  bool is_right = true;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (is_begin(request))
      return reply(200,
                   "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
    if (!is_complete(request)) return good(request);
    EXPECT_EQ(request.header("x-amz-checksum-crc32c"), "") << "it would take it for another kind";
    std::vector<std::uint32_t> crcs;
    for (const std::uint64_t i : {0, 5, 10})
      crcs.push_back(crc32c(std::as_bytes(std::span(bytes_).subspan(i * kMiB, i == 10 ? kMiB : 5 * kMiB))));
    if (!is_right) std::swap(crcs[0], crcs[1]);
    return reply(200, proof(composite_checksum_text(crcs)));
  });
  EXPECT_EQ(upload(server).value(), all());
  is_right = false;
  const auto uploaded = upload(server);
  ASSERT_FALSE(uploaded);
  EXPECT_EQ(uploaded.error().kind(), ErrorKind::kCorrupted);
}

TEST_F(S3UploadTest, WithoutAProofItLooksWhatStandsThere) {
  std::string more;
  std::string mark = "ours";
  int looks = 0;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (is_complete(request)) return reply(200, "<CompleteMultipartUploadResult/>");
    if (request.method != "HEAD") return good(request);
    EXPECT_EQ(request.header("x-amz-checksum-mode"), "ENABLED");
    // The first time the store is still completing the object.
    if (++looks == 1) return ScriptedReply{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"};
    return stands_there(mark == "ours" ? mark_ : mark, more);
  });
  EXPECT_EQ(upload(server).value(), all());
  EXPECT_EQ(looks, 2);
  more = "x-amz-checksum-crc32c: " + checksum_text(crc_) + "\r\n";
  EXPECT_EQ(upload(server).value(), all());
  more = "x-amz-checksum-crc32c: AAAAAA==\r\n";
  EXPECT_EQ(upload(server).error().kind(), ErrorKind::kCorrupted);
  mark = "another's";
  EXPECT_EQ(upload(server).error().kind(), ErrorKind::kAlreadyExists);
}

TEST_F(S3UploadTest, AnotherChecksumThanWasSentIsAnError) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    return is_complete(request) ? reply(200, proof("AAAAAA==")) : good(request);
  });
  const auto uploaded = upload(server);
  ASSERT_FALSE(uploaded);
  EXPECT_EQ(
      uploaded.error().message(),
      "s3://bucket/data/k has the checksum 'AAAAAA==' in the store, but the bytes that were sent have '" +
          checksum_text(crc_) + "'; remove it");
}

TEST_F(S3UploadTest, APartThatTheStoreGotWrongIsSentAgain) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int number) {
    if (number == 2) return reply(200, "", "ETag: \"e\"\r\nx-amz-checksum-crc32c: AAAAAA==\r\n");
    if (number == 3) return reply(200, "");  // no ETag: nothing that a completion could name
    return good(request);
  });
  EXPECT_EQ(upload(server).value(), all());
  EXPECT_EQ(parts_, 3);
  EXPECT_EQ(server.requests().size(), 7u);
}

TEST_F(S3UploadTest, StatusesForANameThatIsTaken) {
  for (const int status : {412, 304}) {
    aborts_ = 0;
    const ScriptedHttp server([&](const ScriptedRequest& request, int) {
      if (request.method == "HEAD") return stands_there("another's");
      return is_complete(request) ? reply(status, "") : good(request);
    });
    EXPECT_EQ(upload(server).error(),
              Error(ErrorKind::kAlreadyExists, "s3://bucket/data/k exists, but this call was to create it"));
    EXPECT_EQ(aborts_, 2);
  }
}

TEST_F(S3UploadTest, WhatCannotBeTakenBackIsSaid) {
  options_.attempts_max = 2;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    return is_part(request) || request.method == "DELETE" ? reply(503, "") : good(request);
  });
  const auto uploaded = upload(server);
  ASSERT_FALSE(uploaded);
  EXPECT_EQ(uploaded.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(uploaded.error().message(),
              HasSubstr("writing s3://bucket/data/k, part 1 of 3 failed 2 times"));
  EXPECT_THAT(uploaded.error().message(), HasSubstr("; its parts stay until abort_stale_uploads(), "));
}

TEST_F(S3UploadTest, OtherBytesThanExpectedAreNeverCompleted) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    EXPECT_FALSE(is_complete(request));
    return good(request);
  });
  EXPECT_EQ(upload(server, {.crc32c = crc_ ^ 1}).error().kind(), ErrorKind::kCorrupted);
  EXPECT_EQ(aborts_, 2);
  MemorySource small("123456789");
  EXPECT_EQ(s3(server)->upload("k", small, {.crc32c = 1}).error().kind(), ErrorKind::kCorrupted);
  EXPECT_EQ(server.requests().size(), 6u) << "a small one is not even sent";
}

TEST_F(S3UploadTest, AnUploadThatIsGoneIsFoundOutAlsoWhereTheAnswerIsLost) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (request.method == "GET") {
      const bool is_about_the_upload = request.target == "/bucket/data/k?max-parts=1&uploadId=u";
      return is_about_the_upload ? reply(404, refusal("NoSuchUpload")) : reply(200, "");
    }
    return is_part(request) && begins_ == 1 ? ScriptedReply{"", ScriptedReply::kCut} : good(request);
  });
  EXPECT_EQ(upload(server).value(), all());
  EXPECT_EQ(begins_, 2);
}

TEST_F(S3UploadTest, AnErrorThatComesAfterA200IsOne) {
  int completions = 0;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (!is_complete(request)) return good(request);
    ++completions;
    return reply(200, "\n\n" + refusal("AccessDenied"));
  });
  const auto uploaded = upload(server);
  ASSERT_FALSE(uploaded);
  EXPECT_THAT(uploaded.error().message(), HasSubstr("status 200 AccessDenied (As S3 says.)"));
  EXPECT_EQ(completions, 1);
  EXPECT_EQ(aborts_, 2);
}

TEST_F(S3UploadTest, ProgressFallsBackWhereAllBeginsAnew) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    return is_complete(request) && begins_ == 1 ? reply(409, refusal("ConditionalRequestConflict"))
                                                : good(request);
  });
  std::vector<std::uint64_t> stored;
  ASSERT_TRUE(upload(server, {.progress = [&](std::uint64_t now) { stored.push_back(now / kMiB); }}));
  EXPECT_THAT(stored, ElementsAre(5, 10, 11, 0, 5, 10, 11));
  EXPECT_EQ(begins_, 2);
}

// ---- uploads of dead writers

TEST_F(S3UploadTest, AbortsWhatIsOldEnoughByTheStoresClock) {
  const auto upload = [](const std::string& key, const std::string& id, const std::string& time) {
    return "<Upload><Key>" + key + "</Key><UploadId>" + id + "</UploadId><Initiated>" + time +
           "</Initiated></Upload>";
  };
  std::vector<std::string> aborted;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (request.method == "DELETE") {
      aborted.push_back(request.target);
      return request.target.ends_with("u3") ? reply(404, refusal("NoSuchUpload")) : reply(204, "");
    }
    const bool is_second = request.target.find("key-marker=data%2Fx%2Fb") != std::string::npos &&
                           request.target.find("upload-id-marker=u2") != std::string::npos;
    const std::string page = is_second
                                 ? upload("data/x/c", "u3", "2026-02-28T00:00:00Z") +
                                       upload("data/x/d", "u4", "2026-02-28T00:00:00Z")
                                 : "<IsTruncated>true</IsTruncated><NextKeyMarker>data/x/b</NextKeyMarker>"
                                   "<NextUploadIdMarker>u2</NextUploadIdMarker>" +
                                       upload("data/x/a", "u1", "2026-03-01T11:00:00Z") +
                                       upload("data/x/b", "u2", "2026-03-01T11:00:02Z");
    return reply(200, "<ListMultipartUploadsResult>" + page + "</ListMultipartUploadsResult>",
                 "Date: Sun, 01 Mar 2026 12:00:00 GMT\r\n");
  });
  world_.clock->advance(std::chrono::hours(5));  // ours is wrong
  EXPECT_EQ(s3(server)->abort_stale_uploads("x/", std::chrono::hours(1)).value(), 2u);
  EXPECT_THAT(aborted, ElementsAre("/bucket/data/x/a?uploadId=u1", "/bucket/data/x/c?uploadId=u3",
                                   "/bucket/data/x/d?uploadId=u4"));
  EXPECT_EQ(server.requests().at(0).target, "/bucket?encoding-type=url&prefix=data%2Fx%2F&uploads=");
}

TEST_F(S3UploadTest, NeverAbortsWhatIsElsewhere) {
  std::string page;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    EXPECT_NE(request.method, "DELETE");
    return reply(200, "<ListMultipartUploadsResult>" + page + "</ListMultipartUploadsResult>");
  });
  page = "<Upload><Key>datax</Key><UploadId>u</UploadId><Initiated>2020-01-01T00:00:00Z</Initiated></Upload>";
  EXPECT_THAT(s3(server)->abort_stale_uploads("", {}).error().message(),
              HasSubstr("'datax', which is outside of the prefix"));
  page = "<IsTruncated>true</IsTruncated><NextKeyMarker>data/a</NextKeyMarker>";
  EXPECT_THAT(s3(server)->abort_stale_uploads("", {}).error().message(), HasSubstr("does not end"));
  EXPECT_FALSE(s3(server)->abort_stale_uploads("../", {}));
}

TEST_F(S3UploadTest, WebServersAreForReading) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(500, ""); });
  MemorySource source("x");
  EXPECT_THAT(web(server)->upload("k", source).error().message(), HasSubstr("web servers are for reading"));
  EXPECT_FALSE(web(server)->abort_stale_uploads("", {}));
  EXPECT_TRUE(server.requests().empty());
}

// Out of memory, for example: no other code catches exceptions in the sending threads.
TEST_F(S3UploadTest, WhatASourceThrowsEndsTheUploadWithAnError) {
  class ThrowingSource final : public ObjectSource {
   public:
    [[nodiscard]] std::uint64_t size_bytes() const override { return 11 * kMiB; }
    [[nodiscard]] Result<void> read(std::uint64_t, std::span<char>) override { throw std::bad_alloc(); }
  };
  const ScriptedHttp server([&](const ScriptedRequest& request, int) { return good(request); });
  ThrowingSource source;
  const auto uploaded =
      s3(server)->upload("k", source, {.replaces = false, .part_bytes = 5 * kMiB, .threads = 3});
  ASSERT_FALSE(uploaded);
  EXPECT_THAT(uploaded.error().message(), AllOf(HasSubstr("writing "), HasSubstr("std::bad_alloc")));
}

}  // namespace
}  // namespace ratoon::objects::s3_upload_test
