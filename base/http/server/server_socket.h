// A server's end of a connection, with the same interface for plain TCP and TLS. Only the .cpp files of the
// server include this header.
#pragma once

#include <functional>
#include <memory>
#include <utility>  // before Boost.Asio 1.74, which needs std::exchange and does not include it

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>

#include <ratoon/result.h>

#include "base/http/server.h"

namespace ratoon::http {

using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
using ServerTcp = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Strand>;
using IoCallback = std::function<void(const boost::system::error_code&, std::size_t)>;

// Call every method on the strand of the socket.
class ServerSocket {
 public:
  virtual ~ServerSocket() = default;
  virtual void handshake(IoCallback done) = 0;
  virtual void read_some(boost::asio::mutable_buffer into, IoCallback done) = 0;
  virtual void write_some(boost::asio::const_buffer from, IoCallback done) = 0;
  [[nodiscard]] virtual ServerTcp& tcp() = 0;
};

// If `context` is null, the socket uses plain TCP without TLS.
[[nodiscard]] std::unique_ptr<ServerSocket> make_server_socket(
    ServerTcp socket, std::shared_ptr<boost::asio::ssl::context> context);

[[nodiscard]] Result<std::shared_ptr<boost::asio::ssl::context>> make_server_context(
    const TlsServerOptions& options);

}  // namespace ratoon::http
