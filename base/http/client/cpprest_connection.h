// CpprestConnection: one cpprestsdk client with exactly one connection. We make the connection, give it to
// the library and keep a second descriptor of it. Through that one a call is measured and, if necessary, cut.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"
#include "base/http/client/client_connection.h"
#include "base/http/client/exchange_channel.h"
#include "base/http/tls/tls_client.h"

namespace ratoon::http {

class CpprestConnection : public ClientConnection {
 public:
  // `tls` is null for http.
  [[nodiscard]] static Result<std::unique_ptr<ClientConnection>> make(const Url& url,
                                                                      std::string expected_name,
                                                                      UniqueFd connected,
                                                                      std::shared_ptr<const TlsClient> tls);

  // Returns when the library has released the exchange.
  [[nodiscard]] CallOutcome run(const CallPlan& plan) final;

  // Begins an exchange. Everything that `request` refers to must live until the channel reports Released.
  virtual void start(const Request& request, const Url& url,
                     const std::shared_ptr<ExchangeChannel>& channel) = 0;

  // How many bytes the library had read when it began to wait for the reply's head; nothing before that.
  [[nodiscard]] virtual std::optional<std::uint64_t> taken_before_reply() const = 0;

  // Whether the library found its kept connection gone before it sent anything. Only after the exchange has
  // ended.
  [[nodiscard]] virtual bool was_never_sent() const = 0;

  // Why TLS refused the other side's certificate, or empty. Only after the exchange has ended.
  [[nodiscard]] virtual const std::string& certificate_problem() const = 0;
  [[nodiscard]] virtual const std::string& expected_name() const = 0;
};

// Bounds cpprestsdk's global pool of threads (40 by default) and makes its scheduler. Only the first call has
// an effect.
void prepare_library();

}  // namespace ratoon::http
