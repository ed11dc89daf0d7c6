// S3 over real connections: the signed parts, the meanings of refusals, and the reactions to them.
#include "agent/src/objects/credentials/chain.h"
#include "agent/src/objects/s3/s3_client.h"
#include "tests/unit/agent/objects/remote_store_fixture.h"

namespace ratoon::objects::s3_store_test {
namespace {

using ratoon::test::reply;
using ratoon::test::ScriptedHttp;
using ratoon::test::ScriptedReply;
using ratoon::test::ScriptedRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using S3StoreTest = test::RemoteStoreTest;

std::string refusal(const std::string& code, const std::string& message = "As S3 says.",
                    const std::string& more = "") {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message + "</Message>" + more +
         "</Error>";
}

TEST_F(S3StoreTest, SignsForTheBucketInThePath) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(200, "x", "ETag: \"v1\"\r\n"); });
  ASSERT_TRUE(get(*s3(server)));
  const ScriptedRequest request = server.requests().at(0);
  EXPECT_EQ(request.target, "/bucket/data/a%20b/c%2Bd");
  EXPECT_EQ(request.header("x-amz-date"), "20260301T120000Z");
  EXPECT_THAT(request.header("authorization"),
              HasSubstr("Credential=AKID/20260301/us-east-1/s3/aws4_request, "
                        "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"));
  options_.is_anonymous = true;
  ASSERT_TRUE(get(*s3(server)));
  EXPECT_EQ(server.requests().at(1).header("authorization"), "");
}

TEST_F(S3StoreTest, RefusalsSayWhatWhoAndWhy) {
  std::string body;
  int status = 403;
  const ScriptedHttp server([&](const ScriptedRequest&, int) { return reply(status, body); });
  const auto store = s3(server);
  const auto failure = [&](int with_status, const std::string& code) {
    status = with_status;
    body = refusal(code);
    const auto got = store->get("k", sink_);
    EXPECT_FALSE(got);
    return got.error();
  };
  const Error denied = failure(403, "AccessDenied");
  EXPECT_EQ(denied.kind(), ErrorKind::kPermissionDenied);
  EXPECT_EQ(
      denied.message(),
      "reading s3://bucket/data/k: GET " + server.url() +
          "/bucket/data/k was answered with status 403 AccessDenied (As S3 says.); check the permissions "
          "of the credentials; signed by AKID from the environment");
  EXPECT_THAT(failure(403, "SignatureDoesNotMatch").message(),
              HasSubstr("check the secret key and the region"));
  EXPECT_THAT(failure(403, "InvalidAccessKeyId").message(), HasSubstr("does not know the access key"));
  EXPECT_EQ(failure(404, "NoSuchKey").kind(), ErrorKind::kNotFound);
  EXPECT_THAT(failure(404, "NoSuchBucket").message(), HasSubstr("check the bucket's name"));
  EXPECT_EQ(failure(404, "NoSuchBucket").kind(), ErrorKind::kInvalid) << "nothing is missing in it";
  EXPECT_EQ(failure(400, "InvalidArgument").kind(), ErrorKind::kInvalid);
  EXPECT_EQ(server.requests().size(), 7u) << "none is tried again";
}

TEST_F(S3StoreTest, AClockThatIsWrongIsSaidWithBothTimes) {
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    return reply(
        403, refusal("RequestTimeTooSkewed", "Too large.", "<ServerTime>2026-03-01T12:20:00Z</ServerTime>"));
  });
  const auto got = get(*s3(server));
  EXPECT_THAT(got.error().message(),
              HasSubstr("it is 2026-03-01T12:00:00.000Z here and 2026-03-01T12:20:00Z at the server"));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(S3StoreTest, CodesThatPassArePatientlyTriedAgain) {
  const ScriptedHttp server([](const ScriptedRequest&, int number) {
    if (number == 1) return reply(400, refusal("RequestTimeout"));
    if (number == 2) return reply(503, refusal("SlowDown"));
    return reply(200, "x");
  });
  ASSERT_TRUE(get(*s3(server)));
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(S3StoreTest, MovesToTheBucketsRegion) {
  const ScriptedHttp server([](const ScriptedRequest& request, int) {
    if (request.header("authorization").find("/eu-west-1/") == std::string::npos) {
      if (request.method == "HEAD")
        return ScriptedReply{
            "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\nx-amz-bucket-region: eu-west-1\r\n\r\n"};
      return reply(400, refusal("AuthorizationHeaderMalformed", "Wrong.", "<Region>eu-west-1</Region>"));
    }
    if (request.method == "HEAD") return ScriptedReply{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"};
    return reply(200, "x");
  });
  auto store = s3(server);
  ASSERT_TRUE(get(*store));
  ASSERT_TRUE(get(*store));
  EXPECT_EQ(server.requests().size(), 3u) << "it is remembered";
  store = s3(server);
  EXPECT_TRUE(store->head("k"));
  EXPECT_THAT(world_.pauses, ElementsAre());
}

TEST_F(S3StoreTest, TwoThatAreToldTheRegionAtOnceBothGoOn) {
  const auto client = S3Client::create(world_.dependencies(),
                                       {.endpoint = "http://127.0.0.1:1",
                                        .region = "us-east-1",
                                        .bucket = "bucket",
                                        .uses_path_style = {}},
                                       nullptr, {})
                          .value();
  const S3Call call{.key = "k"};
  S3Client::Attempt one;
  S3Client::Attempt other;
  ASSERT_TRUE(client->request(call, {}, one, {}));
  ASSERT_TRUE(client->request(call, {}, other, {}));
  const std::string body = refusal("AuthorizationHeaderMalformed", "Wrong.", "<Region>eu-west-1</Region>");
  EXPECT_TRUE(client->make_refusal(call, one, 400, {}, body).is_retried_at_once);
  EXPECT_TRUE(client->make_refusal(call, other, 400, {}, body).is_retried_at_once);
}

TEST_F(S3StoreTest, ARegionThatIsNeverRightIsAnError) {
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    return reply(400, refusal("AuthorizationHeaderMalformed", "Wrong.", "<Region>us-east-1</Region>"));
  });
  EXPECT_THAT(get(*s3(server)).error().message(), HasSubstr("check region and endpoint"));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(S3StoreTest, EndedCredentialsAreFetchedAnewOnce) {
  const ScriptedHttp metadata([](const ScriptedRequest&, int number) {
    return reply(200, R"({"AccessKeyId":"POD)" + std::to_string(number) +
                          R"(","SecretAccessKey":"S","Token":"T","Expiration":"2026-03-02T00:00:00Z"})");
  });
  world_.environment = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", metadata.url()}, {"HOME", "/nowhere"}};
  const ScriptedHttp server([](const ScriptedRequest& request, int) {
    if (request.header("authorization").find("Credential=POD1/") != std::string::npos)
      return reply(400, refusal("ExpiredToken"));
    EXPECT_EQ(request.header("x-amz-security-token"), "T");
    return reply(200, "x");
  });
  ASSERT_TRUE(get(*s3(server)));
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(metadata.requests().size(), 2u);
}

TEST_F(S3StoreTest, EndedCredentialsThatStayAreAnErrorWithTheirSource) {
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(400, refusal("ExpiredToken")); });
  const auto got = get(*s3(server));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kPermissionDenied);
  EXPECT_THAT(got.error().message(),
              HasSubstr("the credentials have expired: renew them; signed by AKID from the environment"));
  EXPECT_EQ(server.requests().size(), 2u);
}

// Two requests are signed before the store rejects their credentials; the source gives new ones.
TEST_F(S3StoreTest, EachRequestWithRejectedCredentialsIsRepeatedWithNewOnes) {
  const ScriptedHttp metadata([](const ScriptedRequest&, int number) {
    return reply(200, R"({"AccessKeyId":"POD)" + std::to_string(number) +
                          R"(","SecretAccessKey":"S","Token":"T","Expiration":"2026-03-02T00:00:00Z"})");
  });
  world_.environment = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", metadata.url()}, {"HOME", "/nowhere"}};
  const HttpDependencies dependencies = world_.dependencies();
  const auto client =
      S3Client::create(dependencies,
                       {.endpoint = "http://127.0.0.1:1",
                        .region = "us-east-1",
                        .bucket = "bucket",
                        .uses_path_style = {}},
                       std::make_unique<CredentialCache>(make_default_credential_chain(dependencies, {}),
                                                         dependencies.clock),
                       {})
          .value();
  const S3Call call{.key = "k"};
  S3Client::Attempt one;
  S3Client::Attempt other;
  ASSERT_TRUE(client->request(call, {}, one, {}));
  ASSERT_TRUE(client->request(call, {}, other, {}));
  const std::string body = refusal("ExpiredToken");
  EXPECT_TRUE(client->make_refusal(call, one, 400, {}, body).is_retried_at_once);
  EXPECT_TRUE(client->make_refusal(call, other, 400, {}, body).is_retried_at_once);
  ASSERT_TRUE(client->request(call, {}, one, {}));
  ASSERT_TRUE(client->request(call, {}, other, {}));
  EXPECT_EQ(one.signer->access_key_id, "POD2");
  EXPECT_EQ(other.signer->access_key_id, "POD2");
  EXPECT_TRUE(client->make_refusal(call, one, 400, {}, body).is_retried_at_once);
  ASSERT_TRUE(client->request(call, {}, one, {}));
  EXPECT_EQ(one.signer->access_key_id, "POD3");
}

TEST_F(S3StoreTest, ARefusedHeadFindsItsReason) {
  const ScriptedHttp server([](const ScriptedRequest& request, int) {
    if (request.method == "HEAD")
      return ScriptedReply{"HTTP/1.1 403 Forbidden\r\nContent-Length: 200\r\n\r\n"};
    return reply(403, refusal("InvalidAccessKeyId"));
  });
  EXPECT_THAT(s3(server)->head("k").error().message(), HasSubstr("InvalidAccessKeyId (As S3 says.)"));
}

TEST_F(S3StoreTest, PutsAndSignsTheBody) {
  const ScriptedHttp server(
      [](const ScriptedRequest&, int number) { return number == 1 ? reply(500, "") : reply(200, ""); });
  ASSERT_TRUE(s3(server)->put("k", "Welcome to Amazon S3."));
  const ScriptedRequest request = server.requests().at(1);
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.body, "Welcome to Amazon S3.");
  EXPECT_EQ(request.header("x-amz-content-sha256"),
            "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(request.header("if-none-match"), "");
}

TEST_F(S3StoreTest, CreatesOnce) {
  for (const int status : {412, 304}) {
    const ScriptedHttp server([status](const ScriptedRequest& request, int) {
      if (request.method == "HEAD") return ScriptedReply{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"};
      return reply(status, "");
    });
    const auto put = s3(server)->put("k", "x", {.replaces = false});
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().kind(), ErrorKind::kAlreadyExists);
    EXPECT_EQ(server.requests().size(), 2u) << "what stands there has not our mark";
    EXPECT_EQ(server.requests().at(0).header("if-none-match"), "*");
    EXPECT_THAT(server.requests().at(0).header("authorization"), HasSubstr(";if-none-match;"));
  }
}

ScriptedReply bodiless(const std::string& status, const std::string& headers) {
  return {"HTTP/1.1 " + status + "\r\nContent-Length: 4\r\n" + headers + "\r\n"};
}

constexpr const char* kMark = "x-amz-meta-ratoon-writer";

TEST_F(S3StoreTest, ACreationWhoseReplyWasLostIsRecognised) {
  struct Case {
    std::string stored_mark;  // "ours": that of the request
    std::string stored;
    bool is_ours;
  };
  for (const auto& [stored_mark, stored, is_ours] :
       {Case{"ours", "mine", true}, Case{"another", "mine", false}, Case{"", "mine", true},
        Case{"", "mina", false}, Case{"", "min", false}, Case{"", "mine!", false}}) {
    std::string mark;
    const ScriptedHttp server([&](const ScriptedRequest& request, int number) {
      if (request.method == "GET" && request.target.find("max-keys=0") != std::string::npos)
        return reply(200, "");
      if (request.method == "GET") return reply(200, stored);
      if (request.method == "HEAD") {
        const std::string& shown = stored_mark == "ours" ? mark : stored_mark;
        return bodiless("200 OK", shown.empty() ? "" : std::string(kMark) + ": " + shown + "\r\n");
      }
      mark = request.header(kMark);
      if (number == 1) return ScriptedReply{"", ScriptedReply::kCut};
      return reply(412, refusal("PreconditionFailed"));
    });
    const auto put = s3(server)->put("k", "mine", {.replaces = false});
    EXPECT_EQ(put.has_value(), is_ours) << stored_mark << ' ' << stored;
    if (!is_ours && !put) {
      EXPECT_EQ(put.error(), Error(ErrorKind::kAlreadyExists,
                                   "s3://bucket/data/k exists, but this call was to create it"));
    }
  }
}

TEST_F(S3StoreTest, ACreationThatCameTwiceIsOurs) {
  // A proxy, or our own transport on a kept connection, sent it twice: the first answer is a refusal.
  std::string mark;
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    if (request.method == "HEAD") return bodiless("200 OK", std::string(kMark) + ": " + mark + "\r\n");
    mark = request.header(kMark);
    return reply(412, refusal("PreconditionFailed"));
  });
  EXPECT_TRUE(s3(server)->put("k", "mine", {.replaces = false}));
  const auto longer = s3(server)->put("k", "mine too", {.replaces = false});
  ASSERT_FALSE(longer) << "it has its mark, and other bytes";
  EXPECT_EQ(longer.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(longer.error().message(), HasSubstr("holds other bytes than were sent: 4 with"));
}

TEST_F(S3StoreTest, WhoMayNotReadStillLearnsThatTheNameIsTaken) {
  const ScriptedHttp server([&](const ScriptedRequest& request, int) {
    return request.method == "HEAD" ? bodiless("403 Forbidden", "") : reply(412, "");
  });
  EXPECT_EQ(s3(server)->put("k", "mine", {.replaces = false}).error().kind(), ErrorKind::kAlreadyExists);
}

TEST_F(S3StoreTest, AStoreThatGotOtherBytesIsAskedAgain) {
  const ScriptedHttp server([](const ScriptedRequest& request, int number) {
    EXPECT_EQ(request.header("x-amz-checksum-crc32c"), "4waSgw==");
    return reply(200, "",
                 std::string("x-amz-checksum-crc32c: ") + (number == 1 ? "AAAAAA==" : "4waSgw==") + "\r\n");
  });
  EXPECT_TRUE(s3(server)->put("k", "123456789"));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(S3StoreTest, ListsPageByPage) {
  const ScriptedHttp server([](const ScriptedRequest& request, int) {
    const bool is_second = request.target.find("continuation-token=t%2B1") != std::string::npos;
    return reply(
        200, std::string("<ListBucketResult><EncodingType>url</EncodingType>") +
                 (is_second
                      ? ""
                      : "<IsTruncated>true</IsTruncated><NextContinuationToken>t+1</NextContinuationToken>") +
                 "<Contents><Key>data/" + (is_second ? "b" : "a") +
                 "</Key><Size>1</Size></Contents></ListBucketResult>");
  });
  const auto store = s3(server);
  const auto all = list_all(*store, "x/").value();
  EXPECT_THAT(all, ElementsAre(ObjectInfo{"a", 1, ""}, ObjectInfo{"b", 1, ""}));
  EXPECT_EQ(server.requests().at(0).target, "/bucket?encoding-type=url&list-type=2&prefix=data%2Fx%2F");
}

TEST_F(S3StoreTest, AListOfWhatIsElsewhereIsAnError) {
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    return reply(
        200, "<ListBucketResult><Contents><Key>secret/a</Key><Size>1</Size></Contents></ListBucketResult>");
  });
  EXPECT_THAT(list_all(*s3(server), "").error().message(),
              HasSubstr("gave 'secret/a', which is outside of the prefix"));
}

TEST_F(S3StoreTest, AListThatDoesNotEndIsAnError) {
  const ScriptedHttp server([](const ScriptedRequest&, int) {
    return reply(200,
                 "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</"
                 "NextContinuationToken></ListBucketResult>");
  });
  EXPECT_THAT(list_all(*s3(server), "").error().message(), HasSubstr("does not end"));
}

// A prefix without objects is an empty list, so that a run that finds no objects may begin anew.
TEST_F(S3StoreTest, AListThatIsNotThereIsNotAnEmptyOne) {
  std::string body;
  const ScriptedHttp server([&](const ScriptedRequest&, int) { return reply(404, body); });
  for (const auto& [answer, said] : {std::pair{refusal("NoSuchBucket"), "check the bucket's name"},
                                     {std::string("<html></html>"), "the server did not find the bucket"}}) {
    body = answer;
    const auto listed = list_all(*s3(server), "manifests/");
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(listed.error().message(), HasSubstr(said));
  }
}

TEST_F(S3StoreTest, RemovingWhatIsNotThereIsFine) {
  std::string code = "NoSuchKey";
  const ScriptedHttp server([&](const ScriptedRequest&, int) { return reply(404, refusal(code)); });
  EXPECT_TRUE(s3(server)->remove("k"));
  code = "NoSuchBucket";
  EXPECT_FALSE(s3(server)->remove("k"));
}

TEST_F(S3StoreTest, SecretsAreInNoMessage) {
  world_.environment["AWS_SECRET_ACCESS_KEY"] = "geheim";
  world_.environment["AWS_SESSION_TOKEN"] = "geheim";
  const ScriptedHttp server([](const ScriptedRequest&, int) { return reply(403, refusal("AccessDenied")); });
  EXPECT_THAT(get(*s3(server)).error().message(), Not(HasSubstr("geheim")));
}

}  // namespace
}  // namespace ratoon::objects::s3_store_test
