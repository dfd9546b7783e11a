// Data objects over the gateway's API.
#include <algorithm>

#include "api/documents.h"
#include "api/session.h"
#include "foundation/percent_encoding.h"
#include "orchid/client.h"

namespace orchid {
namespace {

std::string data_path(std::string_view reference) {
  return "/v1/data/" + percent_encode(reference);
}

}  // namespace

DataInfo Client::put_data(std::string_view name, std::uint64_t size, const DataReader& read,
                          const DataOptions& options) {
  sdk::HttpRequest request{.method = name.empty() ? "POST" : "PUT",
                           .target = name.empty() ? "/v1/data" : data_path(name),
                           .headers = {"Content-Type: application/octet-stream"},
                           .timeout = std::chrono::milliseconds(0),
                           .read_stream = read,
                           .stream_size = size};
  if (!options.if_match.empty())
    request.headers.push_back("If-Match: \"" + options.if_match + "\"");
  if (options.only_new) request.headers.emplace_back("If-None-Match: *");
  if (options.expires_in.count() > 0)
    request.headers.push_back("Orchid-Expires-In: " + std::to_string(options.expires_in.count()));
  return sdk::parse_data(session_->request(request).text());
}

DataInfo Client::put_data(std::string_view name, std::span<const std::byte> bytes,
                          const DataOptions& options) {
  const std::uint64_t size = bytes.size();
  const DataReader read = [&bytes](std::span<std::byte> room) {
    const std::size_t count = std::min(room.size(), bytes.size());
    std::ranges::copy(bytes.first(count), room.begin());
    bytes = bytes.subspan(count);
    return count;
  };
  return put_data(name, size, read, options);
}

void Client::get_data(std::string_view reference, const DataTaker& take) {
  (void)session_->request({.target = data_path(reference),
                           .timeout = std::chrono::milliseconds(0),
                           .take_stream = take});
}

DataInfo Client::describe_data(std::string_view reference) {
  return sdk::parse_data(session_->get(data_path(reference) + "/document").text());
}

std::vector<DataInfo> Client::list_data() {
  return sdk::parse_data_list(session_->get("/v1/data").text());
}

void Client::remove_data(std::string_view reference) {
  (void)session_->request({.method = "DELETE", .target = data_path(reference)});
}

}  // namespace orchid
