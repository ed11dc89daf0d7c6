#include "base/http/server/server_socket.h"

#include <boost/asio/ssl/stream.hpp>

namespace ratoon::http {
namespace {

class PlainSocket final : public ServerSocket {
 public:
  explicit PlainSocket(ServerTcp socket) : socket_(std::move(socket)) {}
  void handshake(IoCallback done) override { done({}, 0); }
  void read_some(boost::asio::mutable_buffer into, IoCallback done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write_some(boost::asio::const_buffer from, IoCallback done) override {
    socket_.async_write_some(from, std::move(done));
  }
  ServerTcp& tcp() override { return socket_; }

 private:
  ServerTcp socket_;
};

class TlsSocket final : public ServerSocket {
 public:
  TlsSocket(ServerTcp socket, std::shared_ptr<boost::asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}
  void handshake(IoCallback done) override {
    stream_.async_handshake(
        boost::asio::ssl::stream_base::server,
        [done = std::move(done)](const boost::system::error_code& error) { done(error, 0); });
  }
  void read_some(boost::asio::mutable_buffer into, IoCallback done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void write_some(boost::asio::const_buffer from, IoCallback done) override {
    stream_.async_write_some(from, std::move(done));
  }
  ServerTcp& tcp() override { return stream_.next_layer(); }

 private:
  const std::shared_ptr<boost::asio::ssl::context> context_;  // the server may have another one by now
  boost::asio::ssl::stream<ServerTcp> stream_;
};

}  // namespace

std::unique_ptr<ServerSocket> make_server_socket(ServerTcp socket,
                                                 std::shared_ptr<boost::asio::ssl::context> context) {
  if (context == nullptr) return std::make_unique<PlainSocket>(std::move(socket));
  return std::make_unique<TlsSocket>(std::move(socket), std::move(context));
}

}  // namespace ratoon::http
