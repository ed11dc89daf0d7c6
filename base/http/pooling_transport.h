// Makes an HttpTransport that keeps idle connections, from a function that makes one connection and a
// function that looks up the name of a server.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"
#include "base/http/client/client_connection.h"
#include "base/http/client/connect.h"
#include "base/http/tls/tls_client.h"
#include "base/http/transport.h"

namespace ratoon::http {

// A function that makes a ClientConnection from a connected socket; `tls` is null for http://.
using MakeConnection = Result<std::unique_ptr<ClientConnection>> (*)(const Url& url,
                                                                     std::string expected_name,
                                                                     UniqueFd connected,
                                                                     std::shared_ptr<const TlsClient> tls);

[[nodiscard]] std::unique_ptr<HttpTransport> make_pooling_transport(MakeConnection make_connection,
                                                                    ResolveName resolve,
                                                                    const TransportOptions& options);

}  // namespace ratoon::http
