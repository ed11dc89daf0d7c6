#include "base/http/transport.h"

#include "base/http/client/cpprest_connection.h"
#include "base/http/client/direct_connection.h"
#include "base/http/pooling_transport.h"
#include "base/http/resolve_name.h"

namespace ratoon::http {

std::unique_ptr<HttpTransport> make_transport(const TransportOptions& options) {
  prepare_library();
  return make_pooling_transport(&CpprestConnection::make, &resolve_name, options);
}

std::unique_ptr<HttpTransport> make_direct_transport(const TransportOptions& options) {
  return make_pooling_transport(&make_direct_connection, &resolve_name, options);
}

}  // namespace ratoon::http
