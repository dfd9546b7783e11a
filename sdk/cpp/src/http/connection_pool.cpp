#include "http/connection_pool.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "http/curl_exchange.h"
#include "orchid/error.h"

namespace orchid::sdk {
namespace {

constexpr std::size_t most_idle_connections = 64;

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
  const auto release = [this](Handle* handle) { give_back(handle); };
  const std::unique_ptr<Handle, decltype(release)> handle(take(), release);
  CurlExchange exchange(handle.get(), {endpoint_, socket_path_}, request);
  return exchange.finish(curl_easy_perform(handle.get()));
}

}  // namespace orchid::sdk
