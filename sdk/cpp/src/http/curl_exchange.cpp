// One exchange: what curl is told before it, and what it has told by the end.
#include "http/curl_exchange.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "foundation/huge_pages.h"
#include "foundation/numbers.h"
#include "orchid/error.h"

namespace orchid::sdk {
namespace {

constexpr long longest_silence_s = 60;
constexpr long longest_wait_to_send_ms = 10'000;

void append(std::unique_ptr<curl_slist, CurlExchange::FreeHeaders>& list, const std::string& line) {
  if (line.find_first_of("\r\n") != std::string::npos)
    throw Error({.kind = ErrorKind::bad_request,
                 .message = "a header value contains a line break",
                 .hint = "look at the token, the keys and the ids that you pass"});
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();
  list.reset(longer);
}

using Time = std::chrono::steady_clock::time_point;
using Exchange = CurlExchange::Seen;

// NOLINTNEXTLINE(readability-non-const-parameter): the signature is curl's
std::size_t take_body(char* data, std::size_t, std::size_t size, void* user) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  auto& body = exchange.response.body;
  try {
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    if (exchange.streams_answer())
      exchange.request.take_stream(bytes);
    else
      body.insert(body.end(), bytes.begin(), bytes.end());
  } catch (...) {
    exchange.failure = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
  return size;
}

std::size_t read_body(char* room, std::size_t, std::size_t size, void* user) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  try {
    return exchange.request.read_stream({reinterpret_cast<std::byte*>(room), size});
  } catch (...) {
    exchange.failure = std::current_exception();
    return CURL_READFUNC_ABORT;
  }
}

void note_length(HttpResponse& response, std::string_view value) {
  constexpr std::size_t believable = std::size_t{1} << 30;
  const auto length = leading_number<std::size_t>(value);
  if (length && *length <= believable) reserve_in_huge_pages(response.body, *length);
}

std::size_t take_header(char* data, std::size_t, std::size_t size, void* user) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  auto& response = exchange.response;
  const std::string_view line(data, size);
  const auto colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    response.headers.clear();  // those before belonged to a 1xx answer
    exchange.answered = std::chrono::steady_clock::now();
  } else if (colon != std::string_view::npos) {
    try {
      std::string name(line.substr(0, colon));
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      const auto first = line.find_first_not_of(" \t", colon + 1);
      const auto last = line.find_last_not_of(" \t\r\n");
      const auto value = first == std::string_view::npos || last < first
                             ? std::string_view{}
                             : line.substr(first, last - first + 1);
      if (name == "content-length" && !exchange.request.take_stream) note_length(response, value);
      response.headers.emplace_back(std::move(name), value);
    } catch (const std::bad_alloc&) {
      return 0;
    }
  }
  return size;
}

/// Called after whatever curl has sent or received.
int note_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  if (exchange.sent == Time{} && sent >= exchange.body_size)
    exchange.sent = std::chrono::steady_clock::now();
  return 0;
}

/// Of an exchange that began at `began` and is over.
ExchangeTimes times_of(CURL* curl, const Exchange& exchange, Time began) {
  curl_off_t before_transfer_us = 0;
  curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &before_transfer_us);
  const Time connected = began + std::chrono::microseconds(before_transfer_us);
  // Of a request without a body curl does not say when it was sent, and an answer may come before
  // all of a body was.
  const Time sent = std::clamp(exchange.sent, connected, std::max(connected, exchange.answered));
  return {.connect = connected - began,
          .send = sent - connected,
          .receive = std::chrono::steady_clock::now() - exchange.answered};
}

/// Any path does: the socket is connected, and what leads to curl's own sockets is never taken.
/// curl before 8.0 connects it once more all the same, which goes well only where a sandbox lets
/// that seem to be done, as that of orchid-flows does.
constexpr const char* connected_path = "/connected";

curl_socket_t give_socket(void* user, curlsocktype, curl_sockaddr*) noexcept {
  try {
    const int socket = (*static_cast<const std::function<int()>*>(user))();
    return socket < 0 ? CURL_SOCKET_BAD : socket;
  } catch (...) {
    return CURL_SOCKET_BAD;
  }
}

int is_connected(void*, curl_socket_t, curlsocktype) noexcept {
  return CURL_SOCKOPT_ALREADY_CONNECTED;
}

void set_way(CURL* curl, const Endpoint& endpoint, const std::string& socket_path) {
  curl_easy_setopt(curl, CURLOPT_PROXY,
                   "");  // a gateway is never behind the proxy that http_proxy names
  if (endpoint.connect) {
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, connected_path);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, &give_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &endpoint.connect);
    curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, &is_connected);
  } else if (!socket_path.empty()) {
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket_path.c_str());
  }
}

void set_body(CURL* curl, const HttpRequest& request, Exchange& exchange) {
  if (request.read_stream) {
    // It cannot be read twice, as a connection would need that the gateway has closed meanwhile.
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, &read_body);
    curl_easy_setopt(curl, CURLOPT_READDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, exchange.body_size);
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, longest_wait_to_send_ms);
  } else if (request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(
        curl, CURLOPT_POSTFIELDS,
        request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, exchange.body_size);
  }
}

[[noreturn]] void throw_transfer_error(CURLcode code, const char* detail,
                                       const Endpoint& endpoint) {
  const std::string reason = detail[0] != '\0' ? detail : curl_easy_strerror(code);
  if (code == CURLE_OPERATION_TIMEDOUT)
    throw Error({.kind = ErrorKind::timed_out,
                 .message = "the gateway at " + endpoint.describe() + " did not answer in time (" +
                            reason + ")",
                 .hint = "'orchid doctor' looks for the cause",
                 .retryable = true});
  throw Error(
      {.kind = ErrorKind::unreachable,
       .message = "the gateway at " + endpoint.describe() + " cannot be reached (" + reason + ")",
       .hint = "start one with 'orchid up', or set ORCHID_GATEWAY to where it runs",
       .retryable = true});
}

}  // namespace

void CurlExchange::FreeHeaders::operator()(curl_slist* list) const { curl_slist_free_all(list); }

bool CurlExchange::Seen::streams_answer() const {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return request.take_stream && status < 300;
}

CurlExchange::CurlExchange(Handle* handle, const CurlWay& way, const HttpRequest& request)
    : endpoint_(way.endpoint), seen_{.request = request, .curl = handle} {
  static_assert(detail_bytes >= CURL_ERROR_SIZE);
  // A large body that is streamed may be refused before it is sent: curl asks. Others are sent
  // without a round trip.
  if (!request.read_stream) append(headers_, "Expect:");
  append(headers_, "Accept: */*");
  if (!endpoint_.token.empty()) append(headers_, "Authorization: Bearer " + endpoint_.token);
  for (const std::string& line : request.headers) append(headers_, line);
  seen_.body_size =
      static_cast<std::int64_t>(request.read_stream ? request.stream_size : request.body.size());
  url_ = (endpoint_.base_url.empty() || !way.socket_path.empty() ? "http://orchid"
                                                                 : endpoint_.base_url) +
         request.target;
  set_ways(way);
  set_callbacks();
  set_body(handle, request, seen_);
  if (request.method != "GET")
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void CurlExchange::set_ways(const CurlWay& way) {
  CURL* curl = seen_.curl;
  const HttpRequest& request = seen_.request;
  curl_easy_setopt(curl, CURLOPT_URL, url_.c_str());
  set_way(curl, endpoint_, way.socket_path);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, way.buffer_bytes);
  curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, way.buffer_bytes);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(endpoint_.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  if (request.timeout.count() > 0) return;
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, longest_silence_s);
}

void CurlExchange::set_callbacks() {
  CURL* curl = seen_.curl;
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail_.data());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &seen_);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &seen_);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &note_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &seen_);
}

HttpResponse CurlExchange::finish(int code) {
  if (seen_.failure) std::rethrow_exception(seen_.failure);
  if (code != CURLE_OK)
    throw_transfer_error(static_cast<CURLcode>(code), detail_.data(), endpoint_);
  long status = 0;
  curl_easy_getinfo(seen_.curl, CURLINFO_RESPONSE_CODE, &status);
  seen_.response.status = static_cast<int>(status);
  seen_.response.times = times_of(seen_.curl, seen_, began_);
  return std::move(seen_.response);
}

}  // namespace orchid::sdk
