// data/data_opener.h: asks the executors of this host for the descriptors of rooms and objects
// (docs/PROTOCOL.md §3, "Data").
#pragma once
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/lane_messages.h"

namespace orchid::gateway {

struct OpenedData {
  UniqueFd file;
  /// Of a reader: the executor charges the object, also a deleted one, until this is closed. It is
  /// to be closed after the file. Of a writer: empty.
  UniqueFd loan;
};

/// `done` is called once, on the thread of `io`, at the latest 5 s from now; never from within.
/// Errors: `unreachable`, `bad_request`, and what the executor refuses with.
void open_data(boost::asio::io_context& io, const std::filesystem::path& lane_socket,
               const LaneOpenData& request, std::move_only_function<void(Result<OpenedData>)> done);

}  // namespace orchid::gateway
