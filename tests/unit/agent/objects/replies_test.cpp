// The replies of stores, token services and servers beside a program, and the rules of addresses and pauses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/objects/credentials/freshness.h"
#include "agent/src/objects/credentials/http_credentials.h"
#include "agent/src/objects/percent.h"
#include "agent/src/objects/remote/content_range.h"
#include "agent/src/objects/remote/location.h"
#include "agent/src/objects/remote/retry.h"
#include "agent/src/objects/s3/protocol/checksum_text.h"
#include "agent/src/objects/s3/protocol/part_plan.h"
#include "agent/src/objects/s3/protocol/s3_address.h"
#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "agent/src/objects/s3/protocol/xml.h"

namespace ratoon::objects::replies_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

WallTime at(std::string_view rfc3339) {
  return parse_rfc3339(rfc3339).value();
}

// ---- XML

TEST(XmlTest, ReadsWhatS3Writes) {
  const auto root = parse_xml(
      "\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- <a> -->\n<a:Root xmlns='x' y=\"/>\">\n"
      "  <B>1 &lt; 2 &amp;&#65;&#xe9;</B><C/><D z='1' ><E>x</E>\n</D>"
      "<F><![CDATA[<raw>&]]></F></a:Root>\n");
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ(root->name, "Root");
  EXPECT_EQ(root->text, "");
  EXPECT_EQ(root->text_of("B"), "1 < 2 &Aé");
  EXPECT_EQ(root->text_of("F"), "<raw>&");
  EXPECT_EQ(root->text_of("C"), "");
  EXPECT_EQ(root->child("C")->children.size(), 0u);
  EXPECT_EQ(root->find("E")->text, "x");
  EXPECT_EQ(root->child("E"), nullptr);
  EXPECT_EQ(root->find("G"), nullptr);
  EXPECT_EQ(parse_xml("<a>&#x7f;&#x80;&#x7ff;&#x800;&#xffff;&#65536;&#x10ffff;</a>")->text,
            "\x7f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff");
}

TEST(XmlTest, RefusesWhatIsNone) {
  for (const std::string& text : std::vector<std::string>{
           "", "text", "<", "<a", "<a>", "<a></b>", "<a></a", "<a></ab>", "<a/><b/>", "<a>&nbsp;</a>",
           "<a>&#0;</a>", "<a>&#x110000;</a>", "<a>&lt</a>", "<a b='></a>", "<!DOCTYPE a><a/>",
           "<a><!-- </a>", "<a><![CDATA[</a>", "< a></ a>", "<a></a> x"}) {
    const auto root = parse_xml(text);
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error().kind(), ErrorKind::kCorrupted);
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_THAT(parse_xml(deep).error().message(), HasSubstr("nested too deeply"));
}

// ---- S3

TEST(S3RepliesTest, Refusals) {
  EXPECT_EQ(
      decode_refusal(
          "<Error><Code>NoSuchKey</Code><Message>The key\ndoes not exist.</Message><Key>x</Key></Error>"),
      (S3Refusal{.code = "NoSuchKey", .message = "The key does not exist."}));
  EXPECT_EQ(
      decode_refusal("<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>")
          .region,
      "eu-west-1");
  // STS wraps it.
  EXPECT_EQ(decode_refusal(
                "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredToken</Code></Error></ErrorResponse>")
                .code,
            "ExpiredToken");
  EXPECT_EQ(decode_refusal("<html>Bad gateway</html>"), S3Refusal{});
  EXPECT_EQ(decode_refusal(""), S3Refusal{});
}

TEST(S3RepliesTest, Lists) {
  const auto page = decode_list(
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t=1</NextContinuationToken>"
      "<Contents><Key>a%2Bb+c/%C3%A9</Key><Size>12</Size><ETag>&quot;e&quot;</ETag></Contents>"
      "<Contents><Key>z</Key><Size>0</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_THAT(page->objects, ElementsAre(ObjectInfo{"a+b c/é", 12, "\"e\""}, ObjectInfo{"z", 0, ""}));
  EXPECT_EQ(page->next, "t=1");
  const auto last = decode_list(
      "<ListBucketResult><NextContinuationToken>x</NextContinuationToken><Contents><Key>a+b</Key>"
      "<Size>1</Size></Contents></ListBucketResult>");
  EXPECT_EQ(last->objects.at(0).key, "a+b") << "not escaped where it does not say so";
  EXPECT_EQ(last->next, "");
}

TEST(S3RepliesTest, RefusesListsThatAreNone) {
  for (const std::string text :
       {"", "<html/>", "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    const auto page = decode_list(text);
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().kind(), ErrorKind::kCorrupted);
  }
}

TEST(S3RepliesTest, Uploads) {
  EXPECT_EQ(decode_upload_id("<InitiateMultipartUploadResult><UploadId>a&amp;b</UploadId>"
                             "</InitiateMultipartUploadResult>")
                .value(),
            "a&b");
  for (const std::string text :
       {"", "<Error/>", "<InitiateMultipartUploadResult/>", "<Other><UploadId>a</UploadId></Other>"})
    EXPECT_EQ(decode_upload_id(text).error().kind(), ErrorKind::kCorrupted) << text;

  EXPECT_EQ(
      decode_completed_crc32c("\n <CompleteMultipartUploadResult><ChecksumCRC32C>4waSgw==</ChecksumCRC32C>"
                              "</CompleteMultipartUploadResult>"),
      "4waSgw==");
  for (const std::string text :
       {"", "<CompleteMultipartUploadResult/>", "<X><ChecksumCRC32C>a</ChecksumCRC32C></X>"})
    EXPECT_EQ(decode_completed_crc32c(text), "") << text;
}

TEST(S3RepliesTest, OpenUploads) {
  const std::string upload =
      "<Upload><Key>a+b%2F</Key><UploadId>u1</UploadId><Initiated>2026-03-01T12:00:00.000Z</Initiated></"
      "Upload>";
  const auto page = decode_open_uploads(
      "<ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextKeyMarker>a+b</NextKeyMarker><NextUploadIdMarker>u1</NextUploadIdMarker>" +
      upload + "</ListMultipartUploadsResult>");
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_THAT(page->uploads, ElementsAre(OpenUpload{"a b/", "u1", at("2026-03-01T12:00:00Z")}));
  EXPECT_EQ(page->next_key, "a b");
  EXPECT_EQ(page->next_id, "u1");
  const auto last = decode_open_uploads("<ListMultipartUploadsResult><NextKeyMarker>x</NextKeyMarker>" +
                                        upload + "</ListMultipartUploadsResult>");
  EXPECT_EQ(last->next_key, "");
  EXPECT_EQ(last->uploads.at(0).key, "a+b%2F");
  for (const std::string text :
       {"<Upload><Key>a</Key><UploadId>u</UploadId></Upload>", "<IsTruncated>true</IsTruncated>",
        "<Upload><Key>a</Key><Initiated>2026-03-01T12:00:00Z</Initiated></Upload>",
        "<Upload><UploadId>u</UploadId><Initiated>2026-03-01T12:00:00Z</Initiated></Upload>"}) {
    const auto bad =
        decode_open_uploads("<ListMultipartUploadsResult>" + text + "</ListMultipartUploadsResult>");
    ASSERT_FALSE(bad) << text;
    EXPECT_EQ(bad.error().kind(), ErrorKind::kCorrupted);
  }
  EXPECT_FALSE(decode_open_uploads("<ListBucketResult/>"));
}

TEST(ChecksumTextTest, IsBase64OfTheHighestByteFirst) {
  // Of "123456789" and of 32 zero bytes (RFC 3720, B.4), written by Python's struct and base64.
  EXPECT_EQ(checksum_text(0xE3069283), "4waSgw==");
  EXPECT_EQ(checksum_text(0x8A9136AA), "ipE2qg==");
  EXPECT_EQ(checksum_text(0), "AAAAAA==");
  EXPECT_EQ(checksum_text(0xFFFFFFFF), "/////w==");
  EXPECT_EQ(checksum_text(0xFBEFBE03), "++++Aw==");
  EXPECT_EQ(composite_checksum_text({0xE3069283, 0x8A9136AA}), "hf0cLg==-2");
}

TEST(PartPlanTest, KeepsToS3sRules) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(plan_parts(0, 8 * kMiB).value(), (PartPlan{0, 8 * kMiB, 1}));
  EXPECT_EQ(plan_parts(8 * kMiB, 8 * kMiB).value(), (PartPlan{8 * kMiB, 8 * kMiB, 1}));
  EXPECT_EQ(plan_parts(8 * kMiB + 1, 8 * kMiB).value(), (PartPlan{8 * kMiB + 1, 8 * kMiB, 2}));
  EXPECT_EQ(plan_parts(6 * kMiB, 1).value(), (PartPlan{6 * kMiB, 5 * kMiB, 2})) << "none below 5 MiB";
  EXPECT_EQ(plan_parts(50'000 * kMiB, 5 * kMiB).value().count, 10'000u);
  EXPECT_EQ(plan_parts(50'000 * kMiB + 1, 5 * kMiB).value(), (PartPlan{50'000 * kMiB + 1, 6 * kMiB, 8334}));
  constexpr std::uint64_t kMost = 10'000 * 5120 * kMiB;
  EXPECT_EQ(plan_parts(kMost, 1).value(), (PartPlan{kMost, 5120 * kMiB, 10'000}));
  EXPECT_EQ(plan_parts(kMost, ~std::uint64_t{0}).value().part_bytes, 5120 * kMiB);
  for (const std::uint64_t size : {kMost + 1, ~std::uint64_t{0}})
    EXPECT_THAT(plan_parts(size, 1).error().message(), HasSubstr("store it as several objects"));
  const PartPlan plan = plan_parts(11 * kMiB, 5 * kMiB).value();
  EXPECT_EQ(plan.begin(2), 10 * kMiB);
  EXPECT_EQ(plan.bytes(1), 5 * kMiB);
  EXPECT_EQ(plan.bytes(2), kMiB);
}

TEST(S3RepliesTest, Roles) {
  const std::string good =
      "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
      "<SessionToken>t</SessionToken><SecretAccessKey>s</SecretAccessKey><Expiration>2026-03-01T13:00:00Z</"
      "Expiration>"
      "<AccessKeyId>ASIA</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></"
      "AssumeRoleWithWebIdentityResponse>";
  EXPECT_EQ(decode_assumed_role(good).value(),
            (Credentials{"ASIA", "s", "t", at("2026-03-01T13:00:00Z"), ""}));
  for (const std::string missing :
       {"<AccessKeyId>ASIA</AccessKeyId>", "<SecretAccessKey>s</SecretAccessKey>", "2026-03-01T13:00:00Z"}) {
    std::string bad = good;
    bad.erase(bad.find(missing), missing.size());
    EXPECT_FALSE(decode_assumed_role(bad)) << missing;
  }
  EXPECT_FALSE(decode_assumed_role("<a/>"));
}

TEST(S3AddressTest, PutsTheBucketWhereItBelongs) {
  const auto url = [](const S3Location& place) {
    const auto address = s3_address_of(place);
    return address ? address->origin + address->path : address.error().message();
  };
  EXPECT_EQ(url({.region = "eu-central-1", .bucket = "my-bucket"}),
            "https://my-bucket.s3.eu-central-1.amazonaws.com/");
  EXPECT_EQ(url({.region = "cn-north-1", .bucket = "my-bucket"}),
            "https://my-bucket.s3.cn-north-1.amazonaws.com.cn/");
  EXPECT_EQ(url({.region = "us-east-1", .bucket = "my.bucket"}),
            "https://s3.us-east-1.amazonaws.com/my.bucket/")
      << "a certificate covers one label";
  EXPECT_EQ(url({.region = "us-east-1", .bucket = "my-bucket", .uses_path_style = true}),
            "https://s3.us-east-1.amazonaws.com/my-bucket/");
  EXPECT_EQ(url({.endpoint = "http://127.0.0.1:9000", .region = "x", .bucket = "my-bucket"}),
            "http://127.0.0.1:9000/my-bucket/");
  EXPECT_EQ(url({.endpoint = "https://r2.example/root/", .region = "auto", .bucket = "b-b"}),
            "https://r2.example/root/b-b/");
  EXPECT_EQ(url({.endpoint = "https://s3.example", .bucket = "my-bucket", .uses_path_style = false}),
            "https://my-bucket.s3.example/");
  EXPECT_EQ(s3_address_of({.endpoint = "https://s3.example:443", .bucket = "abc"})->host, "s3.example");
  EXPECT_EQ(s3_address_of({.endpoint = "http://s3.example:80", .bucket = "abc"})->host, "s3.example");
  EXPECT_EQ(s3_address_of({.endpoint = "http://s3.example:443", .bucket = "abc"})->host, "s3.example:443");
}

TEST(S3AddressTest, RefusesWithASentence) {
  for (const auto& [place, problem] :
       {std::pair(S3Location{.endpoint = "s3.example", .bucket = "abc"}, "another scheme"),
        {S3Location{.endpoint = "https://", .bucket = "abc"}, "does not name a host"},
        {S3Location{.endpoint = "https://h?x", .bucket = "abc"}, "more than host"},
        {S3Location{.region = "", .bucket = "abc"}, "region '' is not valid"},
        {S3Location{.region = "evil.com/x", .bucket = "abc"}, "is not valid"},
        {S3Location{.endpoint = "https://h", .bucket = "my.bucket", .uses_path_style = false},
         "set uses_path_style"}}) {
    const auto address = s3_address_of(place);
    ASSERT_FALSE(address);
    EXPECT_THAT(address.error().message(), HasSubstr(problem));
  }
  EXPECT_THAT(s3_address_of({.endpoint = "https://user:geheim@h", .bucket = "abc"}).error().message(),
              testing::Not(HasSubstr("geheim")));
}

TEST(StsUrlTest, IsTheRegionsOwn) {
  EXPECT_EQ(sts_url("", "eu-west-1"), "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(sts_url("http://minio:9000", "x"), "http://minio:9000/");
}

// ---- the servers beside a program

TEST(ServedTest, DecodesBothForms) {
  const std::string json = R"({"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"A","SecretAccessKey":"S",)"
                           R"("Token":"T","Expiration":"2026-03-01T13:00:00Z"})";
  EXPECT_EQ(decode_http_credentials(json).value(),
            (Credentials{"A", "S", "T", at("2026-03-01T13:00:00Z"), ""}));
  for (const std::string bad :
       {"", "[]", "{}", R"({"AccessKeyId":"A","SecretAccessKey":"S"})",
        R"({"AccessKeyId":1,"SecretAccessKey":"S","Expiration":"2026-03-01T13:00:00Z"})"})
    EXPECT_EQ(decode_http_credentials(bad).error().kind(), ErrorKind::kCorrupted) << bad;
  const auto refused = decode_http_credentials(R"({"Code":"AssumeRoleUnauthorizedAccess","Message":"no"})");
  EXPECT_THAT(refused.error().message(), HasSubstr("AssumeRoleUnauthorizedAccess: no"));
}

TEST(ServedTest, TrustsThisMachineAndTls) {
  for (const std::string good :
       {"https://anywhere/x", "http://127.0.0.1/x", "http://localhost:1/x", "http://[::1]:80/",
        "http://169.254.170.2/v2", "http://169.254.170.23", "http://[fd00:ec2::23]/v1"})
    EXPECT_TRUE(is_trusted_container_url(good)) << good;
  for (const std::string bad :
       {"http://example.com/", "http://127.0.0.1.evil.com/", "http://localhost@evil.com/",
        "http://localhost:80@evil.com/", "http://169.254.169.254/", "ftp://127.0.0.1/", "http://[::2]/",
        "http://[::1", ""})
    EXPECT_FALSE(is_trusted_container_url(bad)) << bad;
}

TEST(FreshnessTest, FetchesBeforeTheEnd) {
  const WallTime fetched = at("2026-03-01T12:00:00Z");
  const auto after = [&](std::optional<WallTime> end, Duration passed) {
    return freshness_of({.expires_at = end}, fetched, {fetched.since_epoch + passed});
  };
  EXPECT_EQ(after(std::nullopt, 10'000h), Freshness::kGood);
  const WallTime in_an_hour{fetched.since_epoch + 1h};
  EXPECT_EQ(after(in_an_hour, 44min), Freshness::kGood);
  EXPECT_EQ(after(in_an_hour, 45min), Freshness::kAgeing);
  EXPECT_EQ(after(in_an_hour, 59min + 49s), Freshness::kAgeing);
  EXPECT_EQ(after(in_an_hour, 59min + 50s), Freshness::kExpired);
  const WallTime in_a_quarter{fetched.since_epoch + 15min};
  EXPECT_EQ(after(in_a_quarter, 7min), Freshness::kGood)
      << "short lives are not fetched anew with every request";
  EXPECT_EQ(after(in_a_quarter, 8min), Freshness::kAgeing);
}

// ---- pauses

TEST(RetryTest, PausesDoubleWithFullJitter) {
  const RetryPolicy policy{.pause_base = 200ms, .pause_max = 20s};
  EXPECT_EQ(retry_pause(policy, 2, 0, {}), 0ms);
  EXPECT_EQ(retry_pause(policy, 2, 0.5, {}), 100ms);
  EXPECT_EQ(retry_pause(policy, 3, 0.5, {}), 200ms);
  EXPECT_EQ(retry_pause(policy, 5, 0.5, {}), 800ms);
  EXPECT_EQ(retry_pause(policy, 30, 0.5, {}), 10s);
  EXPECT_EQ(retry_pause(policy, 4'000'000'000, 0.5, {}), 10s);
  EXPECT_EQ(retry_pause(policy, 2, 0.5, 7s), 7s) << "not before the server said";
  EXPECT_EQ(retry_pause(policy, 9, 0.5, 1s), 10s);
}

TEST(RetryTest, WhatMayPass) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504})
    EXPECT_TRUE(is_retryable(status, "")) << status;
  for (const int status : {301, 400, 401, 403, 404, 409, 412, 501})
    EXPECT_FALSE(is_retryable(status, "")) << status;
  EXPECT_TRUE(is_retryable(400, "RequestTimeout"));
  EXPECT_TRUE(is_retryable(409, "ConditionalRequestConflict"));
  for (const std::string code : {"BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody"})
    EXPECT_TRUE(is_retryable(400, code)) << "what arrived is not what was sent";
  EXPECT_FALSE(is_retryable(403, "AccessDenied"));
  EXPECT_TRUE(is_retryable(Error(ErrorKind::kUnavailable, "")));
  EXPECT_TRUE(is_retryable(Error(ErrorKind::kTimeout, "")));
  for (const auto kind :
       {ErrorKind::kInvalid, ErrorKind::kPermissionDenied, ErrorKind::kCancelled, ErrorKind::kIo})
    EXPECT_FALSE(is_retryable(Error(kind, ""))) << name_of(kind);
}

TEST(RetryTest, RetryAfterIsANumberOrADate) {
  const WallTime now = at("2015-10-21T07:28:00Z");
  EXPECT_EQ(parse_retry_after("120", now), 120s);
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:28:30 GMT", now), 30s);
  for (const std::string bad :
       {"", "-1", "soon", "1.5", "Wed, 21 Oct 2015 07:27:00 GMT", "Wed, 21 Abc 2015 07:28:30 GMT"})
    EXPECT_EQ(parse_retry_after(bad, now), std::nullopt) << bad;
}

// ---- small rules of HTTP

TEST(ContentRangeTest, SaysWhichBytes) {
  EXPECT_EQ(parse_content_range("bytes 2-4/10"), (ContentRange{2, 5, 10}));
  EXPECT_EQ(parse_content_range("bytes 0-0/*"), (ContentRange{0, 1, std::nullopt}));
  for (const std::string bad :
       {"", "bytes", "bytes 2-4", "bytes 4-2/10", "bytes 2-10/10", "bytes a-4/10", "bytes 2-4/x",
        "items 2-4/10", "bytes 2-18446744073709551615/*", "bytes */10"})
    EXPECT_EQ(parse_content_range(bad), std::nullopt) << bad;
  EXPECT_EQ(range_header(2, 5), "bytes=2-4");
  EXPECT_EQ(range_header(2, std::nullopt), "bytes=2-");
  EXPECT_TRUE(is_strong_etag("\"a\""));
  for (const std::string weak : {"", "\"", "\"\"", "W/\"a\"", "a"})
    EXPECT_FALSE(is_strong_etag(weak)) << weak;
}

TEST(LocationTest, LeadsOn) {
  EXPECT_EQ(resolve_redirect("http://h/a/b?x", "http://other/c"), "http://other/c");
  EXPECT_EQ(resolve_redirect("http://h/a/b?x", "/c?d"), "http://h/c?d");
  EXPECT_EQ(resolve_redirect("http://h/a/b?x/y", "c"), "http://h/a/c");
  EXPECT_EQ(resolve_redirect("http://h", "c"), "http://h/c");
  EXPECT_EQ(resolve_redirect("https://h/a", "//other/c"), "https://other/c");
  EXPECT_EQ(resolve_redirect("https://h/a", "http://h/a"), std::nullopt) << "never out of TLS";
  EXPECT_EQ(resolve_redirect("http://h/a", "ftp://h/a"), std::nullopt);
  EXPECT_EQ(resolve_redirect("http://h/a", ""), std::nullopt);
  EXPECT_EQ(url_without_query("https://h/a?signature=geheim"), "https://h/a");
}

TEST(PercentTest, ThereAndBack) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decode(percent_encode(all, false)), all);
  for (const std::string bad : {"%", "%2", "%zz", "a%00"})
    EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace ratoon::objects::replies_test
