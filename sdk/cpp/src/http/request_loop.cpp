#include "http/request_loop.h"

#include <curl/curl.h>

#include <exception>
#include <new>
#include <utility>

#include "http/curl_exchange.h"
#include "orchid/error.h"

namespace orchid::sdk {
namespace {

constexpr long most_connections = 128;  // that are kept
constexpr long small_buffer = 16L * 1024;
constexpr int longest_sleep_ms = 1'000;

}  // namespace

struct RequestLoop::Exchange {
  HttpRequest request;
  std::vector<std::byte> body;
  Done done;
  CURL* handle = nullptr;
  std::size_t place = 0;  // in under_way_
  std::optional<CurlExchange> curl{};
};

RequestLoop::RequestLoop(Endpoint endpoint) : endpoint_(std::move(endpoint)) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_ALL);
  if (started != CURLE_OK)
    throw Error({.kind = ErrorKind::internal, .message = "libcurl cannot be initialised"});
  multi_ = curl_multi_init();
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, most_connections);
  thread_ = std::thread([this] { work(); });
}

RequestLoop::~RequestLoop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  curl_multi_wakeup(multi_);
  thread_.join();
  give_up();
  for (CURL* handle : idle_) curl_easy_cleanup(handle);
  curl_multi_cleanup(multi_);
}

void RequestLoop::start(HttpRequest request, std::vector<std::byte> body, Done done) {
  auto exchange = std::make_unique<Exchange>();
  exchange->request = std::move(request);
  exchange->body = std::move(body);
  exchange->request.body = exchange->body;
  exchange->done = std::move(done);
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = new_.empty();
    new_.push_back(std::move(exchange));
  }
  if (is_first) curl_multi_wakeup(multi_);  // the loop takes all when it takes one
}

void RequestLoop::work() {
  while (begin_new()) {
    int running = 0;
    curl_multi_perform(multi_, &running);
    end_finished();
    curl_multi_poll(multi_, nullptr, 0, longest_sleep_ms, nullptr);
  }
}

/// False: the loop ends.
bool RequestLoop::begin_new() {
  std::vector<std::unique_ptr<Exchange>> fresh;
  {
    const std::lock_guard lock(mutex_);
    if (ends_) return false;
    fresh.swap(new_);
  }
  for (auto& exchange : fresh) begin(std::move(exchange));
  return true;
}

void RequestLoop::begin(std::unique_ptr<Exchange> exchange) {
  CURL* handle = idle_.empty() ? curl_easy_init() : idle_.back();
  if (handle == nullptr) return exchange->done(std::nullopt);
  if (!idle_.empty()) idle_.pop_back();
  try {
    exchange->curl.emplace(
        handle,
        CurlWay{
            .endpoint = endpoint_, .socket_path = endpoint_.socket, .buffer_bytes = small_buffer},
        exchange->request);
  } catch (const Error&) {
    curl_easy_cleanup(handle);
    return exchange->done(std::nullopt);
  }
  exchange->handle = handle;
  exchange->place = under_way_.size();
  curl_easy_setopt(handle, CURLOPT_PRIVATE, exchange.get());
  if (curl_multi_add_handle(multi_, handle) != CURLM_OK) {
    curl_easy_cleanup(handle);
    return exchange->done(std::nullopt);
  }
  under_way_.push_back(std::move(exchange));
}

void RequestLoop::end_finished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* handle = message->easy_handle;
    Exchange* found = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &found);
    const std::unique_ptr<Exchange> exchange = std::move(under_way_[found->place]);
    under_way_[exchange->place] = std::move(under_way_.back());
    under_way_.pop_back();
    if (exchange->place < under_way_.size()) under_way_[exchange->place]->place = exchange->place;
    std::optional<HttpResponse> answer;
    try {
      answer = exchange->curl->finish(code);
    } catch (const std::exception&) {
      answer.reset();
    }
    curl_multi_remove_handle(multi_, handle);
    curl_easy_reset(handle);
    idle_.push_back(handle);
    exchange->done(std::move(answer));
  }
}

void RequestLoop::give_up() {
  for (const auto& exchange : under_way_) {
    curl_multi_remove_handle(multi_, exchange->handle);
    curl_easy_cleanup(exchange->handle);
  }
  under_way_.clear();
}

}  // namespace orchid::sdk
