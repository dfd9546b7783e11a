// call_maker.h: calls of flows through the gateway, each with a key of its own: a call that is made
// again under its key is the same call, and has the same answer.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arrivals.h"
#include "flow/devices.h"
#include "flow_run/flow_data.h"
#include "flow_run/preparations.h"
#include "flow_run/quick_calls.h"
#include "orchid/client.h"

namespace orchid::flows {

struct FlowCall {
  std::string flow;  // its id
  std::uint64_t number = 0;
  std::string function;   // with its version
  std::string signature;  // empty: bytes
  flow::Bytes input;
  std::vector<DataId> data{};
  bool keeps = false;          // no call: `data` is to be kept as a file
  std::vector<DataId> kept{};  // of `data`, what is in files
  std::chrono::nanoseconds deadline{};
  flow::Device device = flow::Device::any;
  std::string host_kind{};  // empty: any
  std::string cluster{};    // empty: any
};

/// What flows want of it, so that they can be tested without a gateway. Used by one thread.
class FlowCaller {
 public:
  FlowCaller() = default;
  virtual ~FlowCaller() = default;
  FlowCaller(const FlowCaller&) = delete;
  FlowCaller& operator=(const FlowCaller&) = delete;
  /// What becomes of it arrives, unless it is stopped or forgotten before.
  virtual void start(FlowCall call) = 0;
  /// Its answer is not wanted any more: it is cancelled.
  virtual void stop(const std::string& flow, std::uint64_t number) = 0;
  /// None of the flow's calls is looked after any more; those that run go on, and can be asked for
  /// by `start`.
  virtual void forget(const std::string& flow) = 0;
  /// What a node needs that comes next: see flow::Preparations. Does not wait.
  virtual void prepare(const std::string& /*flow*/, std::vector<flow::CallsAhead> /*calls*/) {}
  /// A node has made the object, and nobody needs it any more.
  virtual void drop(const DataId& data) = 0;
};

/// Calls are tried on one thread first (flow::QuickCalls). What has no result after a second is
/// asked for again, under its key, by a thread of its own, which waits for it and knows what to do
/// about failures. So many are under way at most; others wait.
class CallMaker final : public FlowCaller {
 public:
  struct Parts {
    Client& client;
    Arrivals& arrivals;
    const ClientOptions& way;  // the client's; its `connect` waits for moments only
  };
  /// The client and the arrivals outlive it.
  CallMaker(const Parts& parts, std::size_t most)
      : client_(parts.client),
        arrivals_(parts.arrivals),
        most_(most),
        quick_(std::in_place, parts.way) {}
  /// Calls that run are not cancelled.
  ~CallMaker() override;

  void start(FlowCall call) override;
  void stop(const std::string& flow, std::uint64_t number) override;
  void forget(const std::string& flow) override;
  void drop(const DataId& data) override { drops_.drop(data); }
  void prepare(const std::string& flow, std::vector<flow::CallsAhead> calls) override {
    preparations_.add(flow, std::move(calls));
  }

 private:
  enum class Wish : std::uint8_t { answer, cancel, forget };
  using Name = std::pair<std::string, std::uint64_t>;  // flow, number
  /// A call that is under way. The same call is begun twice when it was forgotten and started again
  /// meanwhile: then only the newer one counts.
  struct Begun {
    FlowCall call;
    std::uint64_t instance = 0;
  };
  using BegunPointer = std::shared_ptr<const Begun>;  // a callback's, which is copied
  struct Running {
    Wish wish = Wish::answer;
    std::uint64_t instance = 0;
  };

  // With mutex_ held.
  void begin_some();
  void begin(FlowCall call);
  void hand_over(BegunPointer begun);
  [[nodiscard]] Wish wish_now(const Begun& begun) const;
  void end(const Begun& begun);

  void ended_quickly(const BegunPointer& begun, std::optional<Reply> reply);
  void work(const std::stop_token& stop);
  void make(const Begun& begun, const std::stop_token& stop);
  /// Nothing: nobody wants it any more.
  [[nodiscard]] std::optional<flow::Event> call(const Begun& begun, const std::stop_token& stop);
  [[nodiscard]] std::optional<flow::Event> keep(const Begun& begun, const std::stop_token& stop);
  [[nodiscard]] Wish wish_for(const Begun& begun, const std::stop_token& stop);
  void pause(std::chrono::milliseconds time, const std::stop_token& stop);

  Client& client_;
  Arrivals& arrivals_;
  std::size_t most_;
  flow::DataDrops drops_{client_};
  flow::Preparations preparations_{client_};
  std::mutex mutex_;
  std::condition_variable more_;  // to do for threads
  /// Apart, and told nothing: a thread that pauses has a call, and takes no other one.
  std::condition_variable_any pausing_;
  std::deque<FlowCall> waiting_;     // guarded by mutex_, as all below
  std::map<Name, Running> running_;  // those that are under way
  std::uint64_t begun_ = 0;          // so far
  std::size_t under_way_ = 0;
  std::deque<BegunPointer> handed_over_;  // of these
  std::size_t idle_ = 0;                  // threads
  std::vector<std::jthread> threads_;
  std::optional<flow::QuickCalls> quick_;  // it calls us
};

}  // namespace orchid::flows
