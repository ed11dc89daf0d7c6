// HttpServer against floods of connections that send nothing, or nothing that authenticates them: their
// number is bounded, and authenticated clients are served.
#include <optional>
#include <vector>

#include "base/http/server/unauthenticated_connections.h"
#include "base/http/transport.h"
#include "tests/conformance/support/server_tests.h"
#include "tests/conformance/support/test_certificates.h"

namespace ratoon::http::testing::server_unauthenticated {
namespace {

constexpr std::size_t kFriendsMax = 1000;
constexpr std::string_view kFriend = "GET /friend HTTP/1.1\r\nHost: t\r\n\r\n";
// A client's first TLS message that breaks off after 5 of 512 bytes.
constexpr std::string_view kHalfGreeting("\x16\x03\x01\x02\x00", 5);

// Authenticates each client that requests /friend.
void greet(ServerRequest request, Responder responder) {
  if (request.path == "/friend") {
    EXPECT_TRUE(responder.mark_authenticated({.tenant = {}, .name = {}, .connections_max = kFriendsMax}));
  }
  responder.send({.body = "hello"});
}

std::vector<RawSocket> connect(const HttpServer& server, int number, std::string_view first = {}) {
  std::vector<RawSocket> clients;
  for (int i = 0; i < number; ++i) {
    clients.push_back(RawSocket::connect_to(server.port()));
    clients.back().send(first);
  }
  return clients;
}

bool has_ended(RawSocket& client, milliseconds patience) {
  client.read_to_end(patience);
  return client.has_ended();
}

void expect_ended(std::vector<RawSocket>& clients, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    EXPECT_TRUE(has_ended(clients[i], kPatience)) << "connection " << i;
}

void expect_open(std::vector<RawSocket>& clients, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    EXPECT_FALSE(has_ended(clients[i], milliseconds(1))) << "connection " << i;
}

TEST(UnauthenticatedConnections, TheOldestSilentOneIsClosedForOneMore) {
  const auto server = start({.unauthenticated_connections_max = 4}, greet);
  auto clients = connect(*server, 10);
  expect_ended(clients, 0, 6);
  expect_open(clients, 6, 10);
}

TEST(UnauthenticatedConnections, WhomSomebodyVouchedForIsNotClosedAndTakesNobodysPlace) {
  const auto server = start({.unauthenticated_connections_max = 2}, greet);
  auto silent = connect(*server, 1);
  std::vector<RawSocket> friends;
  for (int i = 0; i < 5; ++i) {
    friends.push_back(RawSocket::connect_to(server->port()));
    friends.back().send(kFriend);
    EXPECT_THAT(friends.back().read_until("hello"), StartsWith("HTTP/1.1 200"));
  }
  expect_open(silent, 0, 1);
  expect_open(friends, 0, friends.size());
}

TEST(UnauthenticatedConnections, AFriendStaysWhenAFloodComesAfterIt) {
  const auto server = start({.unauthenticated_connections_max = 2}, greet);
  auto known = RawSocket::connect_to(server->port());
  known.send(kFriend);
  EXPECT_THAT(known.read_until("hello"), StartsWith("HTTP/1.1 200"));
  auto clients = connect(*server, 10, kGet.substr(0, 10));
  expect_ended(clients, 0, 8);
  known.send(kGet);
  EXPECT_THAT(known.read_until("hello"), StartsWith("HTTP/1.1 200"));
}

TEST(UnauthenticatedConnections, WhoAskedAndIsNotKnownIsClosedLikeASilentOne) {
  const auto server = start({.unauthenticated_connections_max = 2}, greet);
  auto unknown = RawSocket::connect_to(server->port());
  unknown.send(kGet);
  EXPECT_THAT(unknown.read_until("hello"), StartsWith("HTTP/1.1 200"));
  const auto silent = connect(*server, 2);
  EXPECT_TRUE(has_ended(unknown, kPatience));
}

TEST(UnauthenticatedConnections, ARequestInWorkOutlivesSilentOnesThatAreYounger) {
  Parking parking;
  const auto server = start({.unauthenticated_connections_max = 3}, parking.handler());
  auto asking = RawSocket::connect_to(server->port());
  asking.send(kGet);
  ASSERT_TRUE(becomes_true([&] { return parking.size() == 1; }));
  auto clients = connect(*server, 10);
  expect_ended(clients, 0, 8);
  parking.take().send({.body = "hello"});
  EXPECT_THAT(asking.read_until("hello"), StartsWith("HTTP/1.1 200"));
}

TEST(UnauthenticatedConnections, WhereAllHaveARequestInWorkTheOldestGoes) {
  Parking parking;
  const auto server = start({.unauthenticated_connections_max = 2}, parking.handler());
  auto clients = connect(*server, 1, kGet);
  ASSERT_TRUE(becomes_true([&] { return parking.size() == 1; }));
  clients.push_back(RawSocket::connect_to(server->port()));
  clients.back().send(kGet);
  ASSERT_TRUE(becomes_true([&] { return parking.size() == 2; }));
  clients.push_back(RawSocket::connect_to(server->port()));
  expect_ended(clients, 0, 1);
  expect_open(clients, 1, 3);
}

// Sessions are only compared here, and their contents are not read.
UnauthenticatedConnections::Session session(std::uintptr_t number) {
  static const auto owner = std::make_shared<int>();
  return {owner, reinterpret_cast<ServerSession*>(number)};
}

const UnauthenticatedConnections::Time kStart{};

TEST(UnauthenticatedConnections, AGangThatCallsAtOnceFromManyAddressesIsServedInItsTurn) {
  UnauthenticatedConnections strangers(64);
  for (std::uintptr_t i = 1; i <= 64; ++i)
    EXPECT_EQ(strangers.add(session(i), "10.0.0." + std::to_string(i / 4), kStart), nullptr);
  const auto late = session(65);
  EXPECT_EQ(strangers.add(late, "10.0.1.1", kStart), late) << "who is at it comes through";
  strangers.remove(session(7));
  EXPECT_EQ(strangers.add(late, "10.0.1.1", kStart), nullptr) << "and then it is its turn";
}

TEST(UnauthenticatedConnections, WhoLetsAGangWaitForLongGoesBeforeTheNewest) {
  UnauthenticatedConnections strangers(64);
  for (std::uintptr_t i = 1; i <= 64; ++i)
    EXPECT_EQ(strangers.add(session(i), "10.0.0." + std::to_string(i / 4), kStart), nullptr);
  strangers.set_has_running_request(session(1), true);
  const auto soon = kStart + std::chrono::seconds(1);
  EXPECT_EQ(strangers.add(session(65), "10.0.1.1", soon), session(65));
  const auto later = kStart + std::chrono::seconds(3);
  EXPECT_EQ(strangers.add(session(66), "10.0.1.1", later), session(2)) << "it had time to ask";
}

TEST(UnauthenticatedConnections, AnAddressThatCrowdsTheOthersOutLosesItsOwn) {
  UnauthenticatedConnections strangers(64);
  EXPECT_EQ(strangers.add(session(1), "10.0.0.1", kStart), nullptr);
  for (std::uintptr_t i = 2; i <= 64; ++i) EXPECT_EQ(strangers.add(session(i), "10.0.0.2", kStart), nullptr);
  strangers.set_has_running_request(session(2), true);
  EXPECT_EQ(strangers.add(session(65), "10.0.0.3", kStart), session(3));
  EXPECT_EQ(strangers.add(session(66), "10.0.0.2", kStart), session(4));
}

TEST(UnauthenticatedConnections, WhomAFullServerRefusesTakesNobodysPlace) {
  const auto server = start({.connections_max = 1, .unauthenticated_connections_max = 1}, greet);
  auto first = RawSocket::connect_to(server->port());
  first.send(kGet);
  EXPECT_THAT(first.read_until("hello"), StartsWith("HTTP/1.1 200"));
  auto refused = RawSocket::connect_to(server->port());
  EXPECT_THAT(refused.read_to_end(), StartsWith("HTTP/1.1 503"));
  first.send(kGet);
  EXPECT_THAT(first.read_until("hello"), StartsWith("HTTP/1.1 200"));
}

TEST(UnauthenticatedConnections, ARequestIsDueInTimeHoweverItIsDrawnOut) {
  auto options = unhurried();
  options.unauthenticated_connections_max = 9;
  options.unauthenticated_deadline = kSoon;
  const auto server = start(options, greet);
  std::optional<RawSocket> known;
  ASSERT_TRUE(becomes_true([&] {  // on a busy machine it may come too late itself
    known.emplace(RawSocket::connect_to(server->port()));
    known->send(kFriend);
    return known->read_until("hello").starts_with("HTTP/1.1 200");
  }));
  auto clients = connect(*server, 1);
  for (const std::string_view begin : {kGet.substr(0, 10), kGet})
    clients.push_back(std::move(connect(*server, 1, begin).front()));
  clients.push_back(
      std::move(connect(*server, 1, "PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 999\r\n\r\n").front()));
  expect_ended(clients, 0, clients.size());
  known->send(kGet);
  EXPECT_THAT(known->read_until("hello"), StartsWith("HTTP/1.1 200"));
}

TEST(UnauthenticatedConnections, AFloodOfHalfHandshakesTakesLittleMemoryAndAFriendIsServed) {
  const TestAuthority authority;
  const auto identity = authority.issue({.alternative_names = "DNS:localhost,IP:127.0.0.1"});
  auto options = unhurried();
  options.tls = TlsServerOptions{identity.certificate_pem, identity.key_pem};
  options.threads = 2;
  options.unauthenticated_connections_max = 16;
  const auto server = start(options, greet);
  const MemoryPeak memory;
  auto clients = connect(*server, 400, kHalfGreeting);
  const auto transport = make_direct_transport({.tls = {.ca_pem = authority.ca_pem()}});
  const Request request{.url = "https://localhost:" + std::to_string(server->port()) + "/friend"};
  for (int round = 0; round < 3; ++round) {
    const auto reply =
        transport->call(request, {.total = kPatience}, {});  // nothing of the flood ends by itself
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(reply->status, 200);
    for (auto& client : connect(*server, 40, kHalfGreeting)) clients.push_back(std::move(client));
  }
  expect_ended(clients, 0, clients.size() - 16);
  expect_open(clients, clients.size() - 15, clients.size());
  EXPECT_LT(memory.growth_mib(), kIsSanitized ? 120 : 12);  // 520 of them would take 45
}

}  // namespace
}  // namespace ratoon::http::testing::server_unauthenticated
