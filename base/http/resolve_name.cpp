#include "base/http/resolve_name.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <pplx/threadpool.h>

namespace ratoon::http {

using boost::asio::ip::tcp;

void resolve_name(const Url& url, ResolvedName resolved) {
  // The callback holds a pointer to the resolver, which keeps the resolver alive until the lookup ends.
  auto resolver = std::make_shared<tcp::resolver>(crossplat::threadpool::shared_instance().service());
  resolver->async_resolve(url.host, std::to_string(url.port),
                          [resolved = std::move(resolved), resolver](const boost::system::error_code& error,
                                                                     tcp::resolver::results_type found) {
                            std::vector<ServerAddress> addresses;
                            for (const auto& entry : found) {
                              ServerAddress address;
                              const auto endpoint = entry.endpoint();
                              address.size = static_cast<socklen_t>(endpoint.size());
                              std::memcpy(&address.storage, endpoint.data(), endpoint.size());
                              addresses.push_back(address);
                            }
                            resolved(std::move(addresses), error ? error.message() : "");
                          });
}

}  // namespace ratoon::http
