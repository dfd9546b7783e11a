// flow_run/flow_data.h: data objects of flows, at the gateway.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/engine.h"
#include "flow/plan.h"
#include "foundation/background_thread.h"
#include "orchid/client.h"
#include "protocol/data_id.h"

namespace orchid::flow {

/// Whether objects go along the plan's edges. Their calls run where they are, so they go through
/// the gateway, which knows that.
[[nodiscard]] bool moves_data(const Plan& plan);

/// The id of what "NAME", "NAME@3" or an id means now. Throws `orchid::Error`.
[[nodiscard]] std::string data_id_of(Client& client, std::string_view reference);

/// As the gateway takes them.
[[nodiscard]] std::vector<std::string> references_to(const std::vector<DataId>& data);

/// Says in `failed`, if the call's input is larger than the gateway takes, what to do about it.
void explain_large_input(std::size_t input_bytes, CallFailed& failed);

/// Asks the gateway, if the call may have failed for want of its data, which of that is gone; says
/// so in `failed`. Throws nothing.
void find_lost(Client& client, const std::vector<DataId>& data, CallFailed& failed);

/// Has an object kept as a file, as `StartCall::keeps` wants, for as long as flows that have ended
/// are kept. Nothing: it is to be asked for again, as the gateway or an executor is away or busy;
/// from `give_up` on that is a failure with its reason. Throws nothing.
[[nodiscard]] std::optional<Event> try_to_keep(Client& client, CallId call, const DataId& data,
                                               std::chrono::steady_clock::time_point give_up);
/// So long drivers ask for a file.
constexpr std::chrono::minutes keep_patience{10};

/// For a call that has failed, after `find_lost`. What is in a file of an executor that is away is
/// waited for, and is not lost until that has lasted for 10 minutes; so is a gateway that has just
/// started, and does not know yet what there is. `pause` waits a little, and says whether anybody
/// wants the call still. What is told of it then. Nothing: nobody wants it. Throws nothing.
struct CallsData {
  const std::vector<DataId>& given;
  const std::vector<DataId>& kept;  // of these, what is in files
};
[[nodiscard]] std::optional<CallFailed> wait_for_data(Client& client, const CallsData& data,
                                                      CallFailed failed,
                                                      const std::function<bool()>& pause);

/// Deletes objects without a name that nobody needs any more, on a thread of its own. While their
/// executor is away, or the gateway, that is tried again for a minute, after all others. What
/// cannot be deleted then, or when this ends, ends with its time to live.
class DataDrops {
 public:
  /// `client` outlives it.
  explicit DataDrops(Client& client) : client_(client) {}
  ~DataDrops();
  DataDrops(const DataDrops&) = delete;
  DataDrops& operator=(const DataDrops&) = delete;
  void drop(const DataId& data);

 private:
  struct Waiting {
    DataId data;
    std::optional<std::chrono::steady_clock::time_point> give_up{};  // once it was tried
  };
  [[nodiscard]] bool try_to_drop(const DataId& data);
  void drop_all();

  Client& client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;  // under the mutex, as the next two
  std::deque<Waiting> waiting_;
  bool is_working_ = false;
  BackgroundThread thread_;  // last: it uses the client
};

}  // namespace orchid::flow
