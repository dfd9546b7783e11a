// data/data_copying.h: copies of data objects that come here or go from here, also those that the
// gateway writes and reads from another host: which processes move them, and what the gateway hears
// of it.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "children/child_watch.h"
#include "data/copy_end.h"
#include "data/data_service.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. It moves no bytes.
class DataCopying {
 public:
  struct Options {
    std::filesystem::path program;  // orchid-copy
    std::string listen;  // the IP address that others come to; empty: nothing is copied from here
    SchedulingClass scheduling = SchedulingClass::normal;
    std::size_t most = 32;  // transfers at the same time; the gateway orders fewer
  };
  /// `tell`: what the gateway is to hear.
  DataCopying(boost::asio::io_context& io, ChildWatch& children, DataService& data, Options options,
              std::function<void(const ControlMessage&)> tell);

  void obey(const OfferData& request);
  void obey(const FetchData& request);
  void obey(const ReceiveData& request);
  void obey(const EndDataTransfer& request);
  /// The object, or its room, is not there any more. What it takes is given back when the processes
  /// that have it mapped have ended.
  void dropped(const DataId& data);
  /// All that moves: the gateway has begun afresh, or the grant ends.
  void end_all();

  /// Processes, also those that are about to end.
  [[nodiscard]] std::size_t under_way() const { return ends_.size(); }

 private:
  /// By the number of the transfer: both ends of one may be here.
  enum class Side : std::uint8_t { sends, fetches, takes };
  using Key = std::pair<std::uint64_t, Side>;
  struct End {
    DataId data;
    std::unique_ptr<CopyEnd> process;
    bool is_awaited = true;  // the gateway is to hear how it ends
  };
  [[nodiscard]] Result<void> check_new(const Key& key) const;
  [[nodiscard]] Result<void> begin_to_send(const OfferData& request);
  [[nodiscard]] Result<void> begin_to_fetch(const FetchData& request);
  [[nodiscard]] Result<void> begin_to_take(const ReceiveData& request);
  [[nodiscard]] Result<void> check_listens() const;
  [[nodiscard]] Result<void> start(const Key& key, const DataId& data, const CopyMessage& order,
                                   const UniqueFd& file, std::chrono::milliseconds within);
  void ended(const Key& key, const std::optional<CopyFailed>& why);
  void say_failed(const Key& key, const DataId& data, const Failure& why);
  void kill(End& end);

  boost::asio::io_context& io_;
  ChildWatch& children_;
  DataService& data_;
  Options options_;
  std::function<void(const ControlMessage&)> tell_;
  std::map<Key, End> ends_;
  std::map<DataId, ByteCount> have_;  // of rooms for copies: what lies there, from the start
};

}  // namespace orchid::executor
