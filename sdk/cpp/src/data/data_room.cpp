#include "data/data_room.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/documents.h"
#include "data/data_mapping.h"
#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/percent_encoding.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::milliseconds give_up_within{5'000};

/// The gateway's host is another one, or it knows no rooms yet.
bool means_send_it(const Error& error) {
  return error.kind() == ErrorKind::unsupported || error.kind() == ErrorKind::not_found;
}

/// The kernel looks at all pages, and frees none of them meanwhile.
std::chrono::milliseconds time_to_seal(std::uint64_t size) {
  constexpr std::uint64_t slowest = 256 << 20;  // bytes a second
  return Session::default_timeout + std::chrono::seconds(size / slowest);
}

std::optional<DataAccessGrant> ask_for_room(Session& session, const DataRoom::Wanted& wanted) {
  const std::string body =
      nlohmann::json{{"bytes", wanted.size}, {"boot_id", own_boot_id()}}.dump();
  HttpRequest request{.method = "POST",
                      .target = wanted.name.empty()
                                    ? "/v1/rooms"
                                    : "/v1/data/" + percent_encode(wanted.name) + "/rooms",
                      .headers = wanted.headers,
                      .body = as_bytes(body)};
  request.headers.emplace_back("Content-Type: application/json");
  try {
    return parse_data_access(session.request(request).text());
  } catch (const Error& error) {
    if (!means_send_it(error)) throw;
    return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<DataRoom> DataRoom::make(Session& session, const Wanted& wanted) {
  const auto grant = ask_for_room(session, wanted);
  if (!grant) return nullptr;
  auto opened = open_bytes(*grant, DataAccess::write);
  if (opened)
    return std::unique_ptr<DataRoom>(new DataRoom(session, *grant, std::move(opened->file)));
  give_up(session, "/v1/rooms/" + to_string(grant->data));
  return nullptr;
}

DataRoom::~DataRoom() {
  if (!file_) return;
  file_.reset();  // before its executor takes the room for free
  give_up(session_, path_);
}

/// It goes by itself when its time to be written is over.
void DataRoom::give_up(Session& session, const std::string& path) noexcept {
  try {
    (void)session.request({.method = "DELETE", .target = path, .timeout = give_up_within});
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): that is all that can be done
  }
}

void DataRoom::fill(const DataWriter& write) const {
  const auto mapping = DataMapping::of_room(file_, size_);
  write(mapping->bytes());
}

void DataRoom::write(std::span<const std::byte> bytes) const {
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t count = ::pwrite(file_.get(), bytes.data() + written, bytes.size() - written,
                                   static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw Error({.kind = ErrorKind::system,
                   .message = std::string("writing into the room of the data object: ") +
                              std::strerror(errno)});
    written += static_cast<std::size_t>(count);
  }
}

DataInfo DataRoom::seal() {
  file_.reset();  // a sealed file has no writer
  try {
    return parse_data(
        session_
            .request({.method = "POST", .target = path_ + "/seal", .timeout = time_to_seal(size_)})
            .text());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
    Error::Details details = error.details();
    details.kind = ErrorKind::unreachable;
    details.message = "its executor has given the room up: nothing is kept";
    details.hint = "put it again";
    details.retryable = true;
    throw Error(std::move(details));
  }
}

}  // namespace orchid::sdk
