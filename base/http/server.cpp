#include "base/http/server.h"

#include <chrono>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include "base/http/server/server_core.h"
#include "base/http/server/server_session.h"

namespace ratoon::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// The number of connections beyond connections_max that get the reply 503; the server closes all further
// connections without a reply.
constexpr std::size_t kRefusingConnectionsMax = 64;
// How long the server waits, after the process has run out of descriptors, before it accepts again.
constexpr std::chrono::milliseconds kAcceptPause{100};

class BeastServer final : public HttpServer {
 public:
  BeastServer(ServerOptions options, Handler handler, std::shared_ptr<asio::ssl::context> tls)
      : core_(std::make_shared<ServerCore>(std::move(options), std::move(handler), std::move(tls))),
        strand_(asio::make_strand(core_->io)),
        acceptor_(strand_),
        pause_(strand_) {}
  ~BeastServer() override { stop(); }

  Result<void> listen() {
    const std::string where = core_->options.address + ":" + std::to_string(core_->options.port);
    boost::system::error_code error;
    const auto address = asio::ip::make_address(core_->options.address, error);
    if (error) return Error(ErrorKind::kInvalid, "listening on " + where + " failed: expected an IP address");
    error = listen_at(address);
    if (error == asio::error::address_family_not_supported && core_->options.address == kEveryAddress)
      error = listen_at(asio::ip::address_v4::any());
    if (error) return system_error(error.value(), "listening on " + where);
    port_ = acceptor_.local_endpoint(error).port();
    return {};
  }

  void run() {
    asio::post(strand_, [this] { accept(); });
    core_->start_threads();
  }

  std::uint16_t port() const override { return port_; }

  Result<void> renew(const TlsServerOptions& tls) override {
    if (!core_->tls()) return Error(ErrorKind::kInvalid, "this server speaks no TLS: it has no certificate");
    auto made = make_server_context(tls);
    if (!made) return made.error();
    core_->renew(std::move(*made));
    return {};
  }

  void stop() override {
    core_->stop([this] {
      asio::post(strand_, [this] {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        pause_.cancel();
      });
    });
  }

 private:
  boost::system::error_code listen_at(const asio::ip::address& address) {
    const tcp::endpoint endpoint(address, core_->options.port);
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error && address.is_v6()) acceptor_.set_option(asio::ip::v6_only(!address.is_unspecified()), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    return error;
  }

  void accept() {
    if (!acceptor_.is_open()) return;
    // Every connection gets its own strand (Asio's serial executor).
    acceptor_.async_accept(asio::make_strand(core_->io),
                           [this](const boost::system::error_code& error, ServerTcp socket) {
                             if (core_->is_stopping()) return;
                             if (error) return accept_after_pause();
                             take(std::move(socket));
                             accept();
                           });
  }

  void accept_after_pause() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const boost::system::error_code& error) {
      if (!error) accept();
    });
  }

  void take(ServerTcp socket) {
    const std::size_t others = core_->session_count();
    if (others >= core_->options.connections_max + kRefusingConnectionsMax) return;
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    auto session = std::make_shared<ServerSession>(core_, std::move(socket));
    if (others >= core_->options.connections_max) {
      if (core_->add_for_refusal(session)) session->start_refusing();
    } else if (core_->add(session)) {
      session->start();
    }
  }

  const std::shared_ptr<ServerCore> core_;
  Strand strand_;
  asio::basic_socket_acceptor<tcp, Strand> acceptor_;
  asio::steady_timer pause_;
  std::uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Handler handler) {
  try {
    std::shared_ptr<asio::ssl::context> tls;
    if (options.tls) {
      auto made = make_server_context(*options.tls);
      if (!made) return made.error();
      tls = std::move(*made);
    }
    auto server = std::make_unique<BeastServer>(std::move(options), std::move(handler), std::move(tls));
    if (auto listening = server->listen(); !listening) return listening.error();
    server->run();
    return std::unique_ptr<HttpServer>(std::move(server));
  } catch (const std::exception& e) {
    return Error(ErrorKind::kUnavailable, std::string("starting an HTTP server failed: ") + e.what());
  }
}

}  // namespace ratoon::http
