// data/data_room.h: room for a data object in an executor of this host, which this program writes
// by itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/session.h"
#include "data/data_access.h"
#include "foundation/unique_fd.h"
#include "orchid/client.h"

namespace orchid::sdk {

/// Owned by one thread. Given up by the destructor, unless it was sealed.
class DataRoom {
 public:
  struct Wanted {
    std::string_view name;             // empty: none
    std::uint64_t size = 0;            // in bytes
    std::vector<std::string> headers;  // of a PUT of the same
  };
  /// Null: this program cannot write there, and the bytes are to be sent: another host, another
  /// user, or a gateway that gives no rooms. Throws what a PUT of the same would be refused with.
  [[nodiscard]] static std::unique_ptr<DataRoom> make(Session& session, const Wanted& wanted);
  DataRoom(const DataRoom&) = delete;
  DataRoom& operator=(const DataRoom&) = delete;
  ~DataRoom();

  /// The whole of it, mapped, is written by `write`; what that throws goes through.
  void fill(const DataWriter& write) const;
  /// Copies all of it there, without touching a page before it is written.
  void write(std::span<const std::byte> bytes) const;
  /// Immutable from now on. Throws; the object is not there then, or nobody could say so.
  [[nodiscard]] DataInfo seal();

 private:
  DataRoom(Session& session, const DataAccessGrant& grant, UniqueFd file)
      : session_(session),
        path_("/v1/rooms/" + to_string(grant.data)),
        size_(grant.bytes),
        file_(std::move(file)) {}
  static void give_up(Session& session, const std::string& path) noexcept;

  Session& session_;
  std::string path_;
  std::uint64_t size_;
  UniqueFd file_;  // empty: it is not ours any more
};

}  // namespace orchid::sdk
