// The conformance suite, part 3: TLS refuses for every valid reason, and for no other reason.
#include <future>
#include <thread>

#include "tests/conformance/transport_conformance.h"

namespace ratoon::http::testing {
namespace {

TEST_P(TlsConformance, TrustsItsAuthorityByNameAndByAddress) {
  const auto port = serve_tls(local(authority_));
  const auto transport = make({.tls = {.ca_pem = authority_.ca_pem()}});
  for (const std::string host :
       {"https://localhost:", "https://127.0.0.1:", "https://localhost:", "https://127.0.0.1:"}) {
    const auto reply = transport->call({.url = host + port + "/"}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_EQ(reply->body, "secret");
  }
}

TEST_P(TlsConformance, CarriesBigBodiesAndStreams) {
  const auto identity = local(authority_);
  const auto url = serve(
      [](ServerRequest request, Responder responder) {
        auto writer = responder.stream(200, {});
        for (std::size_t i = 0; i < request.body.size(); i += 10'000) {
          ASSERT_TRUE(writer->write(std::string_view(request.body).substr(i, 10'000)));
        }
        writer->finish();
      },
      {.tls = TlsServerOptions{identity.certificate_pem, identity.key_pem}, .body_bytes_max = 8 << 20});
  const auto transport = make({.tls = {.ca_pem = authority_.ca_pem()}});
  std::string body(3'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i % 241);
  const auto reply = transport->call({.method = "POST", .url = url, .body = body}, patient(), {});
  ASSERT_TRUE(reply) << describe(reply);
  EXPECT_TRUE(reply->body == body);
}

TEST_P(TlsConformance, RefusesAnUnknownAuthority) {
  const auto port = serve_tls(local(authority_));
  const TestAuthority other("Somebody else");
  const auto reply =
      make({.tls = {.ca_pem = other.ca_pem()}})->call({.url = "https://localhost:" + port}, patient(), {});
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied, reply);
  EXPECT_THAT(reply.error().message(), ::testing::HasSubstr("certificate"));
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied,
                    make()->call({.url = "https://localhost:" + port}, patient(), {}));
}

TEST_P(TlsConformance, RefusesAnotherName) {
  const auto port =
      serve_tls(authority_.issue({.common_name = "localhost", .alternative_names = "DNS:other.example"}));
  const TlsClientOptions trusting{.ca_pem = authority_.ca_pem()};
  for (const std::string host : {"https://localhost:", "https://127.0.0.1:"}) {
    EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied,
                      make({.tls = trusting})->call({.url = host + port}, patient(), {}));
  }
  auto expecting = trusting;
  expecting.server_name = "other.example";
  EXPECT_TRUE(make({.tls = expecting})->call({.url = "https://127.0.0.1:" + port}, patient(), {}));
  expecting.server_name = "third.example";
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied,
                    make({.tls = expecting})->call({.url = "https://127.0.0.1:" + port}, patient(), {}));
}

TEST_P(TlsConformance, DoesNotTakeTheHostHeaderForTheName) {
  const auto port = serve_tls(authority_.issue({.alternative_names = "DNS:other.example"}));
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied,
                    make({.tls = {.ca_pem = authority_.ca_pem()}})
                        ->call({.url = "https://localhost:" + port, .headers = {{"Host", "other.example"}}},
                               patient(), {}));
}

TEST_P(TlsConformance, RefusesANameThatIsOnlyInTheSubjectAndAnAddressWithoutItsOwnEntry) {
  const TlsClientOptions trusting{.ca_pem = authority_.ca_pem()};
  auto port = serve_tls(authority_.issue({.common_name = "localhost"}));
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied,
                    make({.tls = trusting})->call({.url = "https://localhost:" + port}, patient(), {}));
  port = serve_tls(authority_.issue({.alternative_names = "DNS:127.0.0.1,IP:127.0.0.2"}));
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied,
                    make({.tls = trusting})->call({.url = "https://127.0.0.1:" + port}, patient(), {}));
}

TEST_P(TlsConformance, RefusesAnExpiredCertificate) {
  const auto port = serve_tls(authority_.issue({.alternative_names = "DNS:localhost", .is_expired = true}));
  const auto reply = make({.tls = {.ca_pem = authority_.ca_pem()}})
                         ->call({.url = "https://localhost:" + port}, patient(), {});
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied, reply);
  EXPECT_THAT(reply.error().message(), ::testing::HasSubstr("expired"));
}

TEST_P(TlsConformance, ShowsItsOwnCertificateWhereOneIsAskedFor) {
  const TestAuthority clients("Authority of clients");
  const auto port = serve_tls(local(authority_), clients.ca_pem());
  const auto url = "https://localhost:" + port;
  TlsClientOptions options{.ca_pem = authority_.ca_pem()};
  const auto nobody = make({.tls = options})->call({.url = url}, patient(), {});
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied, nobody);
  EXPECT_THAT(nobody.error().message(), ::testing::HasSubstr("certificate"));

  const auto member = clients.issue({.common_name = "member"});
  options.certificate_pem = member.certificate_pem;
  options.private_key_pem = member.key_pem;
  const auto transport = make({.tls = options});
  for (int i = 0; i < 3; ++i) {
    const auto reply = transport->call({.url = url}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
  }
  const auto stranger = authority_.issue({.common_name = "stranger"});
  options.certificate_pem = stranger.certificate_pem;
  options.private_key_pem = stranger.key_pem;
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied, make({.tls = options})->call({.url = url}, patient(), {}));
}

// A client that stays connected need not trust the new authority; a new client must.
TEST_P(TlsConformance, ARenewedCertificateIsShownToNewConnectionsAndOpenOnesStay) {
  const TestAuthority next("The next authority");
  const auto url = "https://localhost:" + serve_tls(local(authority_));
  const auto stays = make({.tls = {.ca_pem = authority_.ca_pem()}});
  ASSERT_TRUE(stays->call({.url = url}, patient(), {}));
  const auto renewed = local(next);
  ASSERT_TRUE(
      server_->renew({.certificate_pem = renewed.certificate_pem, .private_key_pem = renewed.key_pem}));
  for (int i = 0; i < 3; ++i) {
    const auto reply = stays->call({.method = "POST", .url = url, .body = "x"}, patient(), {});
    ASSERT_TRUE(reply) << describe(reply);
    EXPECT_EQ(reply->body, "secret");
  }
  EXPECT_TRUE(make({.tls = {.ca_pem = next.ca_pem()}})->call({.url = url}, patient(), {}));
  EXPECT_FAILS_WITH(ErrorKind::kPermissionDenied,
                    make({.tls = {.ca_pem = authority_.ca_pem()}})->call({.url = url}, patient(), {}));
}

TEST_P(TlsConformance, WhatCannotBeServedChangesNothing) {
  const auto identity = local(authority_);
  const auto url = "https://localhost:" + serve_tls(identity);
  EXPECT_FAILS_WITH(ErrorKind::kInvalid,
                    server_->renew({.certificate_pem = identity.certificate_pem, .private_key_pem = "none"}));
  EXPECT_FAILS_WITH(ErrorKind::kInvalid, server_->renew({}));
  EXPECT_TRUE(make({.tls = {.ca_pem = authority_.ca_pem()}})->call({.url = url}, patient(), {}));
  serve([](ServerRequest, Responder responder) { responder.send({}); });
  EXPECT_FAILS_WITH(ErrorKind::kInvalid, server_->renew({.certificate_pem = identity.certificate_pem,
                                                         .private_key_pem = identity.key_pem}));
}

TEST_P(TlsConformance, SaysWhenTheOtherSideDoesNotSpeakTls) {
  const TlsClientOptions trusting{.ca_pem = authority_.ca_pem()};
  serve([](ServerRequest, Responder responder) { responder.send({}); });
  const auto reply =
      make({.tls = trusting})
          ->call({.url = "https://127.0.0.1:" + std::to_string(server_->port())}, patient(), {});
  EXPECT_FAILS_WITH(ErrorKind::kInvalid, reply);
  EXPECT_THAT(reply.error().message(), ::testing::HasSubstr("does not speak TLS"));

  const auto port = serve_tls(local(authority_));
  const auto plain = make({.tls = trusting})->call({.url = "http://127.0.0.1:" + port}, patient(), {});
  EXPECT_FALSE(plain);
}

TEST_P(TlsConformance, ReportsUnreadablePem) {
  const auto member = authority_.issue({});
  const auto other = authority_.issue({});
  const std::vector<TlsClientOptions> bad = {
      {.ca_pem = "no certificate"},
      {.ca_pem = authority_.ca_pem(), .certificate_pem = "nothing", .private_key_pem = member.key_pem},
      {.ca_pem = authority_.ca_pem(),
       .certificate_pem = member.certificate_pem,
       .private_key_pem = "nothing"},
      {.ca_pem = authority_.ca_pem(),
       .certificate_pem = member.certificate_pem,
       .private_key_pem = other.key_pem},
  };
  for (const auto& options : bad) {
    const auto reply = make({.tls = options})->call({.url = "https://127.0.0.1:1/"}, patient(), {});
    EXPECT_FAILS_WITH(ErrorKind::kInvalid, reply);
    EXPECT_EQ(reply.error().message().find("PRIVATE"), std::string::npos);
  }
}

TEST_P(TlsConformance, CancelsDuringTheHandshake) {
  ScriptedServer mute([](RawSocket& peer, int) { peer.read_to_end(kNever); });
  const auto transport = make({.tls = {.ca_pem = authority_.ca_pem()}});
  std::stop_source source;
  auto running = std::async(std::launch::async, [&] {
    return transport->call({.url = "https://127.0.0.1:" + std::to_string(mute.port())}, unlimited(),
                           source.get_token());
  });
  ASSERT_EQ(running.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  source.request_stop();
  EXPECT_FAILS_WITH(ErrorKind::kCancelled, running.get());
}

TEST_P(TlsConformance, BoundsTheReplyHead) {
  const auto identity = local(authority_);
  const auto url = serve(
      [](ServerRequest, Responder responder) {
        responder.send({.headers = {{"X-Padding", std::string(8 << 20, 'p')}}});
      },
      {.tls = TlsServerOptions{identity.certificate_pem, identity.key_pem}});
  const auto transport = make({.tls = {.ca_pem = authority_.ca_pem()}});
  EXPECT_FAILS_WITH(ErrorKind::kInvalid, transport->call({.url = url}, patient(), {}));
}

}  // namespace

}  // namespace ratoon::http::testing
