// The adapters between cpprestsdk's streams and our ExchangeChannel. This header includes cpprestsdk, so
// include it in .cpp files only.
#pragma once

#include <memory>
#include <utility>  // before Boost.Asio 1.74, which needs std::exchange and does not include it

#include <cpprest/streams.h>

#include "base/http/client/exchange_channel.h"

namespace ratoon::http {

// Lends every piece of the reply's body to the channel.
[[nodiscard]] concurrency::streams::ostream make_download(std::shared_ptr<ExchangeChannel> channel);

// Reads the request's body from memory that outlives the exchange, or asks the channel for it.
[[nodiscard]] concurrency::streams::istream make_upload(std::string_view body);
[[nodiscard]] concurrency::streams::istream make_upload(std::shared_ptr<ExchangeChannel> channel);

}  // namespace ratoon::http
