// call_maker.h: calls of flows through the gateway, each with a key of its own: a call that is made
// again under its key is the same call, and has the same answer.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
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

/// A thread for each call that is under way, up to a limit; others wait.
class CallMaker final : public FlowCaller {
 public:
  /// Both outlive it.
  CallMaker(Client& client, Arrivals& arrivals, std::size_t most_threads)
      : client_(client), arrivals_(arrivals), most_threads_(most_threads) {}
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

  void work(const std::stop_token& stop);
  void make(const FlowCall& call, const std::stop_token& stop);
  /// Nothing: nobody wants it any more.
  [[nodiscard]] std::optional<flow::Event> call(const FlowCall& call, const std::stop_token& stop);
  [[nodiscard]] std::optional<flow::Event> keep(const FlowCall& call, const std::stop_token& stop);
  [[nodiscard]] Wish wish_for(const FlowCall& call, const std::stop_token& stop);
  void pause(std::chrono::milliseconds time, const std::stop_token& stop);

  Client& client_;
  Arrivals& arrivals_;
  std::size_t most_threads_;
  flow::DataDrops drops_{client_};
  flow::Preparations preparations_{client_};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<FlowCall> waiting_;  // guarded by mutex_, as all below
  std::map<Name, Wish> running_;
  std::size_t idle_ = 0;  // threads
  std::vector<std::jthread> threads_;
};

}  // namespace orchid::flows
