#include "http/connection_pool.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>

#include "foundation/huge_pages.h"
#include "foundation/numbers.h"
#include "orchid/error.h"

namespace orchid::sdk {
namespace {

constexpr std::size_t most_idle_connections = 64;
constexpr long longest_silence_s = 60;
constexpr long longest_wait_to_send_ms = 10'000;

struct HeaderListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, HeaderListDeleter>;

void append(HeaderList& list, const std::string& line) {
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

/// What curl's callbacks learn of one exchange.
struct Exchange {
  const HttpRequest& request;
  CURL* curl = nullptr;
  HttpResponse response{};
  std::exception_ptr failure{};  // of what streams
  curl_off_t body_size = 0;      // of the request
  Time sent{};                   // its last byte; the epoch: not yet
  Time answered{};               // the first line of the answer

  [[nodiscard]] bool streams_answer() const {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return request.take_stream && status < 300;
  }
};

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
/// curl before 8.0 connects it once more all the same, which goes well only where a sandbox lets that
/// seem to be done, as that of orchid-flows does.
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

std::string_view HttpResponse::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

ConnectionPool::ConnectionPool(Endpoint endpoint) : endpoint_(std::move(endpoint)) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_ALL);
  if (started != CURLE_OK)
    throw Error({.kind = ErrorKind::internal, .message = "libcurl cannot be initialised"});
  socket_path_ = endpoint_.socket;
  if (socket_path_.size() < sizeof(sockaddr_un::sun_path)) return;
  // A longer path is reached through its directory's descriptor.
  const auto slash = socket_path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : socket_path_.substr(0, slash);
  socket_directory_ = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (socket_directory_ < 0)
    throw Error(
        {.kind = ErrorKind::unreachable,
         .message = "cannot open " + directory + ": " + std::strerror(errno),
         .hint = "start a gateway with 'orchid up', or set ORCHID_GATEWAY to where it runs"});
  const std::string name =
      slash == std::string::npos ? socket_path_ : socket_path_.substr(slash + 1);
  socket_path_ = "/proc/self/fd/" + std::to_string(socket_directory_) + "/" + name;
}

ConnectionPool::~ConnectionPool() {
  for (Handle* handle : idle_) curl_easy_cleanup(handle);
  if (socket_directory_ >= 0) ::close(socket_directory_);
}

ConnectionPool::Handle* ConnectionPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Handle* handle = idle_.back();
      idle_.pop_back();
      return handle;
    }
  }
  Handle* handle = curl_easy_init();
  if (handle == nullptr) throw std::bad_alloc();
  return handle;
}

void ConnectionPool::give_back(Handle* handle) {
  curl_easy_reset(handle);  // keeps its connection
  {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle_connections) {
      idle_.push_back(handle);
      return;
    }
  }
  curl_easy_cleanup(handle);
}

HttpResponse ConnectionPool::perform(const HttpRequest& request) {
  HeaderList headers;
  // A large body that is streamed may be refused before it is sent: curl asks. Others are sent
  // without a round trip.
  if (!request.read_stream) append(headers, "Expect:");
  append(headers, "Accept: */*");
  if (!endpoint_.token.empty()) append(headers, "Authorization: Bearer " + endpoint_.token);
  for (const std::string& line : request.headers) append(headers, line);

  const std::uint64_t size = request.read_stream ? request.stream_size : request.body.size();
  Exchange exchange{.request = request, .body_size = static_cast<curl_off_t>(size)};
  std::array<char, CURL_ERROR_SIZE> detail{};
  const std::string url =
      (endpoint_.base_url.empty() || !socket_path_.empty() ? "http://orchid" : endpoint_.base_url) +
      request.target;
  const auto release = [this](Handle* handle) { give_back(handle); };
  const std::unique_ptr<Handle, decltype(release)> handle(take(), release);
  CURL* curl = handle.get();
  exchange.curl = curl;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  set_way(curl, endpoint_, socket_path_);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L * 1024);
  curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(endpoint_.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail.data());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &note_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  if (request.timeout.count() == 0) {
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, longest_silence_s);
  }
  set_body(curl, request, exchange);
  if (request.method != "GET")
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());

  const Time began = std::chrono::steady_clock::now();
  const CURLcode code = curl_easy_perform(curl);
  if (exchange.failure) std::rethrow_exception(exchange.failure);
  if (code != CURLE_OK) throw_transfer_error(code, detail.data(), endpoint_);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  exchange.response.status = static_cast<int>(status);
  exchange.response.times = times_of(curl, exchange, began);
  return std::move(exchange.response);
}

}  // namespace orchid::sdk
