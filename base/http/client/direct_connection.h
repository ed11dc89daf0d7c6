// DirectConnection: a connection on which the calling thread sends and receives every byte itself. No other
// thread takes part, so no data passes between threads and no thread is woken.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"
#include "base/http/client/client_connection.h"
#include "base/http/tls/tls_client.h"

namespace ratoon::http {

// `tls` is null for http:// URLs.
[[nodiscard]] Result<std::unique_ptr<ClientConnection>> make_direct_connection(
    const Url& url, std::string expected_name, UniqueFd connected, std::shared_ptr<const TlsClient> tls);

}  // namespace ratoon::http
