ratoon_test(unit/http/message_test LIBS ratoon::base_http)
ratoon_test(unit/http/request_parser_test LIBS ratoon::base_http)
ratoon_test(unit/http/url_test LIBS ratoon::base_http)
