// data/data_digests.h: the digests of sealed objects, made when the gateway asks for one.
#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>

#include "data/data_service.h"
#include "foundation/background_thread.h"
#include "foundation/result.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. A thread of its own reads the bytes, one object after the other, so
/// that nobody else waits for it. The object is in use meanwhile.
class DataDigests {
 public:
  static constexpr std::size_t most_waiting = 64;  // more are refused
  /// `tell`: what the gateway is to hear. `data` outlives it.
  DataDigests(boost::asio::io_context& io, DataService& data,
              std::function<void(const ControlMessage&)> tell);
  ~DataDigests() { end_all(); }
  DataDigests(const DataDigests&) = delete;
  DataDigests& operator=(const DataDigests&) = delete;

  /// Answered by `DataDigest`, or by `DataNotDigested`: `data_lost`, `no_capacity`, and whatever
  /// keeps it from being read.
  void obey(const DigestData& request);
  /// The object is not there any more.
  void dropped(const DataId& data);
  /// The grant ends.
  void end_all();
  [[nodiscard]] bool idle() const { return thread_.idle(); }

 private:
  void begin(const DataId& data);
  void ended(const DataId& data, Result<std::string> digest);
  void refuse(const DataId& data, const Failure& why);

  boost::asio::io_context& io_;
  DataService& data_;
  std::function<void(const ControlMessage&)> tell_;
  /// What is to stop each that is being made, or waits for that.
  std::map<DataId, std::shared_ptr<std::atomic<bool>>> under_way_;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell results whether we are still here
  BackgroundThread thread_;
};

}  // namespace orchid::executor
