// Signatures compared with AWS's published examples: the examples of the S3 documentation ("Authenticating
// Requests: Using the Authorization Header") and cases of its aws-sig-v4-test-suite. None of the expected
// values was computed by Ratoon.
#include "agent/src/objects/s3/protocol/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/objects/percent.h"
#include "agent/src/objects/s3/protocol/sha256.h"

namespace ratoon::objects::sigv4_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const std::string kEmptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

WallTime at(std::string_view rfc3339) {
  return parse_rfc3339(rfc3339).value();
}

TEST(Sha256Test, IsTheOneOfFips180AndRfc4231) {
  EXPECT_EQ(to_hex(sha256("")), kEmptySha256);
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256("", "")), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

// ---- the S3 documentation

const Credentials kDocumented{.access_key_id = "AKIAIOSFODNN7EXAMPLE",
                              .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};

struct Documented {
  std::string canonical_sha256;  // the last line of the documented string to sign
  std::string signature;
};

void expect_documented(RequestToSign request, const Documented& expected) {
  const SigningScope scope{"us-east-1", "s3", at("2013-05-24T00:00:00Z")};
  request.headers.emplace_back("Host", "examplebucket.s3.amazonaws.com");
  const NameValues sent = sign(request, scope, kDocumented);
  request.headers.emplace_back("x-amz-date", "20130524T000000Z");
  request.headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
  EXPECT_EQ(to_hex(sha256(canonical_request(request))), expected.canonical_sha256)
      << canonical_request(request);
  EXPECT_EQ(sent.back().first, "Authorization");
  EXPECT_THAT(sent.back().second, EndsWith(", Signature=" + expected.signature));
  EXPECT_EQ(sent.back().second, authorization(request, scope, kDocumented));
}

TEST(SigV4Test, GetObjectWithARange) {
  RequestToSign request{
      .path = "/test.txt", .headers = {{"Range", "bytes=0-9"}}, .payload_sha256 = kEmptySha256};
  expect_documented(request, {"7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
                              "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"});
  const NameValues sent = sign(request, {"us-east-1", "s3", at("2013-05-24T00:00:00Z")}, kDocumented);
  EXPECT_THAT(
      sent.back().second,
      HasSubstr("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="));
}

TEST(SigV4Test, PutObject) {
  const std::string payload = to_hex(sha256("Welcome to Amazon S3."));
  EXPECT_EQ(payload, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  expect_documented(
      {.method = "PUT",
       .path = "/test$file.text",
       .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
       .payload_sha256 = payload},
      {"9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"});
}

TEST(SigV4Test, GetBucketLifecycle) {
  expect_documented({.query = {{"lifecycle", ""}}, .payload_sha256 = kEmptySha256},
                    {"9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
                     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"});
}

TEST(SigV4Test, ListObjects) {
  expect_documented({.query = {{"prefix", "J"}, {"max-keys", "2"}}, .payload_sha256 = kEmptySha256},
                    {"df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
                     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"});
}

// ---- aws-sig-v4-test-suite

struct SuiteCase {
  std::string name;
  RequestToSign request;
  std::string body;
  std::string signed_headers;
  std::string signature;
};

class SuiteTest : public testing::TestWithParam<SuiteCase> {};

TEST_P(SuiteTest, HasThePublishedSignature) {
  const Credentials credentials{.access_key_id = "AKIDEXAMPLE",
                                .secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
  RequestToSign request = GetParam().request;
  request.headers.emplace_back("Host", "example.amazonaws.com");
  request.headers.emplace_back("X-Amz-Date", "20150830T123600Z");
  request.payload_sha256 = to_hex(sha256(GetParam().body));
  EXPECT_EQ(
      authorization(request, {"us-east-1", "service", at("2015-08-30T12:36:00Z")}, credentials),
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" +
          GetParam().signed_headers + ", Signature=" + GetParam().signature)
      << canonical_request(request);
}

INSTANTIATE_TEST_SUITE_P(
    Aws, SuiteTest,
    testing::Values(
        SuiteCase{.name = "get_vanilla",
                  .signed_headers = "host;x-amz-date",
                  .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        SuiteCase{.name = "post_vanilla",
                  .request = {.method = "POST"},
                  .signed_headers = "host;x-amz-date",
                  .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
        SuiteCase{.name = "get_vanilla_query_order_key_case",
                  .request = {.query = {{"Param2", "value2"}, {"Param1", "value1"}}},
                  .signed_headers = "host;x-amz-date",
                  .signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
        SuiteCase{.name = "get_vanilla_utf8_query",
                  .request = {.query = {{"ሴ", "bar"}}},
                  .signed_headers = "host;x-amz-date",
                  .signature = "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
        SuiteCase{.name = "get_utf8",
                  .request = {.path = "/ሴ"},
                  .signed_headers = "host;x-amz-date",
                  .signature = "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
        SuiteCase{.name = "get_space_unnormalized",
                  .request = {.path = "/example space/"},
                  .signed_headers = "host;x-amz-date",
                  .signature = "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
        SuiteCase{.name = "get_unreserved",
                  .request = {.path = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
                  .signed_headers = "host;x-amz-date",
                  .signature = "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
        SuiteCase{.name = "post_header_key_sort",
                  .request = {.method = "POST", .headers = {{"My-Header1", "value1"}}},
                  .signed_headers = "host;my-header1;x-amz-date",
                  .signature = "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
        SuiteCase{.name = "get_header_value_trim",
                  .request = {.headers = {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}},
                  .signed_headers = "host;my-header1;my-header2;x-amz-date",
                  .signature = "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
        SuiteCase{
            .name = "post_x_www_form_urlencoded",
            .request = {.method = "POST", .headers = {{"Content-Type", "application/x-www-form-urlencoded"}}},
            .body = "Param1=value1",
            .signed_headers = "content-type;host;x-amz-date",
            .signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
        SuiteCase{
            .name = "get_vanilla_with_session_token",
            .request = {.headers = {{"X-Amz-Security-Token",
                                     "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"}}},
            .signed_headers = "host;x-amz-date;x-amz-security-token",
            .signature = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"}),
    [](const auto& param) { return param.param.name; });

// ---- cases without a vector

TEST(SigV4Test, ATokenIsSentAndSigned) {
  Credentials credentials = kDocumented;
  const RequestToSign request{.headers = {{"Host", "h"}}, .payload_sha256 = kEmptySha256};
  const SigningScope scope{"eu-central-1", "s3", at("2026-01-02T03:04:05Z")};
  EXPECT_THAT(sign(request, scope, credentials),
              Not(testing::Contains(testing::Key("x-amz-security-token"))));
  credentials.session_token = "token";
  const NameValues sent = sign(request, scope, credentials);
  EXPECT_THAT(sent, testing::Contains(testing::Pair("x-amz-security-token", "token")));
  EXPECT_THAT(sent, testing::Contains(testing::Pair("x-amz-date", "20260102T030405Z")));
  EXPECT_THAT(sent.back().second,
              HasSubstr("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"));
}

TEST(SigV4Test, SpacesAroundValuesDoNotCount) {
  const auto with = [](const std::string& value) {
    return canonical_request(
        {.method = "GET", .path = "/", .headers = {{"Host", "h"}, {"X-Amz-Meta-A", value}}});
  };
  EXPECT_THAT(with("a b"), testing::HasSubstr("\nx-amz-meta-a:a b\n"));
  for (const std::string spaced : {" a b", "a b ", "a b  ", "\ta  b\t"})
    EXPECT_EQ(with(spaced), with("a b")) << spaced;
}

TEST(SigV4Test, EscapesOnceAndEveryByte) {
  EXPECT_EQ(percent_encode("a b/c%20d+é~*", true), "a%20b/c%2520d%2B%C3%A9~%2A");
  EXPECT_EQ(percent_encode("a/b", false), "a%2Fb");
  EXPECT_EQ(canonical_query({{"b", "2"}, {"a", "x=y&z"}, {"a", ""}, {"a-", "1"}}), "a=&a=x%3Dy%26z&a-=1&b=2");
}

}  // namespace
}  // namespace ratoon::objects::sigv4_test
