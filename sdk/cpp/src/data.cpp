// Data objects over the gateway's API.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "api/documents.h"
#include "api/session.h"
#include "data/data_access.h"
#include "data/data_mapping.h"
#include "data/data_room.h"
#include "foundation/files.h"
#include "foundation/percent_encoding.h"
#include "orchid/client.h"

namespace orchid {
namespace {

std::string data_path(std::string_view reference) {
  return "/v1/data/" + percent_encode(reference);
}

/// What its header says of an object that is to be made.
std::vector<std::string> headers_of(const DataOptions& options) {
  std::vector<std::string> headers;
  if (!options.if_match.empty()) headers.push_back("If-Match: \"" + options.if_match + "\"");
  if (options.only_new) headers.emplace_back("If-None-Match: *");
  if (options.expires_in.count() > 0)
    headers.push_back("Orchid-Expires-In: " + std::to_string(options.expires_in.count()));
  if (options.durable) headers.emplace_back("Orchid-Durable: true");
  if (options.copies > 1) headers.push_back("Orchid-Copies: " + std::to_string(options.copies));
  return headers;
}

/// Takes them from the front of `bytes`.
DataReader reader_of(std::span<const std::byte>& bytes) {
  return [&bytes](std::span<std::byte> room) {
    const std::size_t count = std::min(room.size(), bytes.size());
    std::ranges::copy(bytes.first(count), room.begin());
    bytes = bytes.subspan(count);
    return count;
  };
}

/// A room takes two requests more than the bytes themselves, which are sent in that time.
constexpr std::uint64_t worth_a_room = 1 << 20;

}  // namespace

DataInfo Client::put_data(std::string_view name, std::uint64_t size, const DataReader& read,
                          const DataOptions& options) {
  sdk::HttpRequest request{.method = name.empty() ? "POST" : "PUT",
                           .target = name.empty() ? "/v1/data" : data_path(name),
                           .headers = headers_of(options),
                           .timeout = std::chrono::milliseconds(0),
                           .read_stream = read,
                           .stream_size = size};
  request.headers.emplace_back("Content-Type: application/octet-stream");
  return sdk::parse_data(session_->request(request).text());
}

DataInfo Client::write_data(std::string_view name, std::uint64_t size, const DataWriter& write,
                            const DataOptions& options) {
  if (const auto room = sdk::DataRoom::make(
          *session_, {.name = name, .size = size, .headers = headers_of(options)})) {
    room->fill(write);
    return room->seal();
  }
  const auto own = sdk::DataMapping::own(size);
  write(own->bytes());
  std::span<const std::byte> bytes = own->bytes();
  return put_data(name, size, reader_of(bytes), options);
}

MappedData Client::map_data(std::string_view reference) {
  const sdk::DataAccessGrant grant =
      sdk::parse_data_access(session_->get(data_path(reference) + "/access").text());
  std::unique_ptr<sdk::DataMapping> mapping;
  if (auto opened = sdk::open_bytes(grant, DataAccess::read)) {
    mapping = sdk::DataMapping::of_object(opened->file, std::move(opened->loan), grant.bytes);
  } else {
    mapping = sdk::DataMapping::own(grant.bytes);
    std::span<std::byte> left = mapping->bytes();
    get_data(to_string(grant.data), [&left](std::span<const std::byte> bytes) {
      const std::size_t count = std::min(bytes.size(), left.size());
      std::ranges::copy(bytes.first(count), left.begin());
      left = left.subspan(count);
    });
    mapping->protect();
  }
  mapping->label = grant.label;
  return MappedData(std::move(mapping));
}

DataInfo Client::put_data(std::string_view name, std::span<const std::byte> bytes,
                          const DataOptions& options) {
  const std::uint64_t size = bytes.size();
  if (size >= worth_a_room)
    if (const auto room = sdk::DataRoom::make(
            *session_, {.name = name, .size = size, .headers = headers_of(options)})) {
      room->write(bytes);
      return room->seal();
    }
  return put_data(name, size, reader_of(bytes), options);
}

void Client::get_data(std::string_view reference, const DataTaker& take) {
  (void)session_->request({.target = data_path(reference),
                           .timeout = std::chrono::milliseconds(0),
                           .take_stream = take});
}

DataInfo Client::describe_data(std::string_view reference) {
  return sdk::parse_data(session_->get(data_path(reference) + "/document").text());
}

DataInfo Client::digest_data(std::string_view reference) {
  return sdk::parse_data(session_
                             ->request({.target = data_path(reference) + "/digest",
                                        .timeout = std::chrono::milliseconds(0)})
                             .text());
}

std::vector<DataInfo> Client::list_data() {
  return sdk::parse_data_list(session_->get("/v1/data").text());
}

DataInfo Client::copy_data(std::string_view reference, const CopyOptions& options) {
  const std::string body = sdk::wanted_copies(options);
  return sdk::parse_data(session_
                             ->request({.method = "POST",
                                        .target = data_path(reference) + "/copies",
                                        .headers = {"Content-Type: application/json"},
                                        .body = as_bytes(body)})
                             .text());
}

DataInfo Client::keep_data(std::string_view reference, std::chrono::seconds for_at_least) {
  std::string body;
  if (for_at_least.count() > 0)
    body = "{\"expires_in\":" + std::to_string(for_at_least.count()) + "}";
  return sdk::parse_data(session_
                             ->request({.method = "POST",
                                        .target = data_path(reference) + "/durable",
                                        .headers = {"Content-Type: application/json"},
                                        .body = as_bytes(body),
                                        .timeout = std::chrono::milliseconds(0)})
                             .text());
}

void Client::remove_data(std::string_view reference) {
  (void)session_->request({.method = "DELETE", .target = data_path(reference)});
}

}  // namespace orchid
