#include "data/data_digests.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foundation/log.h"
#include "protocol/running_digest.h"

namespace orchid::executor {
namespace {

/// Of what is on disk, to be in memory again.
constexpr std::chrono::seconds digest_disk_patience{60};

Result<std::string> digest_of_file(const UniqueFd& file, ByteCount bytes,
                                   const std::atomic<bool>& stop) {
  constexpr std::uint64_t piece_bytes = 1 << 20;
  std::vector<std::byte> piece(std::min(piece_bytes, bytes.value));
  RunningDigest digest;
  for (std::uint64_t at = 0; at < bytes.value;) {
    if (stop) return fail(ErrorCode::data_lost, "the data was dropped while it was read");
    const std::size_t wanted = std::min<std::uint64_t>(piece.size(), bytes.value - at);
    const ssize_t got = ::pread(file.get(), piece.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read data for its digest");
    if (got == 0) return fail(ErrorCode::system, "the data ends before its size");
    digest.add(std::span(piece).first(static_cast<std::size_t>(got)));
    at += static_cast<std::uint64_t>(got);
  }
  std::string text = digest.finish();
  if (text.empty()) return fail(ErrorCode::system, "the SHA-256 of OpenSSL does not work");
  return text;
}

}  // namespace

DataDigests::DataDigests(boost::asio::io_context& io, DataService& data,
                         std::function<void(const ControlMessage&)> tell)
    : io_(io), data_(data), tell_(std::move(tell)) {}

void DataDigests::obey(const DigestData& request) {
  const DataId data = request.data;
  if (const std::string known = data_.book().digest_of(data); !known.empty())
    return tell_(DataDigest{data, known});
  if (under_way_.contains(data)) return;  // one answer is enough
  if (under_way_.size() >= most_waiting)
    return refuse(data, {ErrorCode::no_capacity, "this executor makes the digests of " +
                                                     std::to_string(most_waiting) +
                                                     " objects already: try again"});
  under_way_.emplace(data, std::make_shared<std::atomic<bool>>(false));
  data_.prepare(data, digest_disk_patience,
                [this, alive = std::weak_ptr(alive_), data](const Result<void>& there) {
                  if (alive.expired()) return;
                  if (!there) return ended(data, fail(there.error()));
                  begin(data);
                });
}

void DataDigests::begin(const DataId& data) {
  auto lent = data_.lend(data);
  if (!lent) return ended(data, fail(std::move(lent.error())));
  thread_.run([this, alive = std::weak_ptr(alive_), &io = io_, data, bytes = lent->bytes,
               stop = under_way_.at(data),
               file = std::make_optional(std::move(lent->file))]() mutable {
    auto digest = digest_of_file(*file, bytes, *stop);
    file.reset();
    boost::asio::post(io, [this, alive, data, digest = std::move(digest)]() mutable {
      if (alive.expired()) return;
      data_.leave(data);
      ended(data, std::move(digest));
    });
  });
}

void DataDigests::ended(const DataId& data, Result<std::string> digest) {
  under_way_.erase(data);
  if (!digest) return refuse(data, digest.error());
  data_.keep_digest(data, *digest);
  log::info("event=data_digested data={}", to_string(data));
  tell_(DataDigest{data, std::move(*digest)});
}

void DataDigests::refuse(const DataId& data, const Failure& why) {
  tell_(DataNotDigested{data, why.code, why.message});
}

void DataDigests::dropped(const DataId& data) {
  if (const auto one = under_way_.find(data); one != under_way_.end()) *one->second = true;
}

void DataDigests::end_all() {
  for (const auto& [data, stop] : under_way_) *stop = true;
}

}  // namespace orchid::executor
