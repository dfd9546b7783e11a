// data/data_of_calls.h: what workers ask about data during their calls: objects that they open,
// rooms that they fill, and what becomes of these when the call is over.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "children/time_limit.h"
#include "data/data_service.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/token_bucket.h"
#include "foundation/units.h"
#include "protocol/control_messages.h"
#include "protocol/service_messages.h"
#include "workers/worker_pool.h"

namespace orchid::executor {

/// Owned by the agent's thread. What a worker says has come through its depot, which has read it
/// and may have been taken over by that: neither is believed.
class DataOfCalls {
 public:
  struct Parts {
    boost::asio::io_context& io;
    DataService& data;
    WorkerPool& workers;
    std::function<void(const ControlMessage&)> tell;  // the gateway
  };
  /// How long the gateway may take to answer.
  static constexpr std::chrono::seconds answer_within{5};
  /// What one tenant's calls may ask the gateway: it has one thread for all hosts. More waits.
  static constexpr TokenBucket::Rate questions_of_tenant{.per_second = 200, .burst = 256};
  static constexpr std::size_t most_waiting = 1024;  // questions of one tenant; more are refused
  /// Everything in `parts` outlives it.
  explicit DataOfCalls(Parts parts);

  /// Once, with the descriptor that goes with it (-1: none does); its sequence is the request's.
  using Answer = std::function<void(const ServiceAnswer&, int descriptor)>;
  /// `request`: any but open_memory.
  void ask(const LeaseTenant& tenant, std::uint64_t worker, const ServiceRequest& request,
           const Answer& answer);
  void obey(const DataFound& message);
  void obey(const DataAccepted& message);
  void obey(const DataDeclined& message);
  /// A gateway has welcomed this executor. `names_data`: it can be asked. `resumed`: it is the one
  /// that was asked before.
  void begin(bool names_data, bool resumed);
  /// Questions that have been open for too long.
  void tick(MonotonicTime now);
  /// How a worker's crew is asked for its member at another executor that has an object, of which
  /// the name or id is given. `told` is called once, or never if the worker ends.
  using Elsewhere = std::function<void(std::uint64_t worker, const std::string& data,
                                       std::function<void(Result<std::uint32_t> member)> told)>;
  void ask_crews(Elsewhere elsewhere) { elsewhere_ = std::move(elsewhere); }
  /// What its call has made is to vanish.
  void worker_ended(std::uint64_t worker);

 private:
  struct Asker {
    LeaseTenant tenant;
    std::uint64_t worker = 0;
    std::uint32_t sequence = 0;
    Answer answer;
    bool locates = false;  // it asks where the object is, and not for it
    std::string located;   // the object's name or id then
  };
  /// After a name.
  struct Wanted {
    Asker asker;
    std::string reference;
  };
  struct TenantsQuestions {
    TokenBucket tokens{questions_of_tenant};
    std::deque<Wanted> waiting;  // the first come first
  };
  struct Question {
    Asker asker;
    MonotonicTime due;
    std::vector<DataId> offered;  // empty: it is after a name
  };
  void open(const Asker& asker, const ServiceRequest& request);
  void locate(Asker asker, const ServiceRequest& request);
  void tell_place(const Asker& asker, const DataId& data) const;
  void find(const Asker& asker, std::string reference);
  void send(Wanted wanted);
  void send_waiting();
  void give(const Asker& asker, const DataId& data);
  void give_from_memory(const Asker& asker, const DataId& data);
  void create(const Asker& asker, ByteCount most);
  void create_again(const Asker& asker);
  void create_prepared(const Asker& asker, ByteCount most);
  void seal(const Asker& asker, const ServiceRequest& request);
  void publish(const Asker& asker, std::uint64_t sealed);
  void offer(const Asker& asker, std::uint64_t sealed);
  void accepted(const Question& question, const DataAccepted& message);
  void discard(std::uint64_t worker, bool sealed_too, const std::function<void()>& done = {});
  void put(Asker asker, std::uint64_t number, std::vector<DataId> offered);
  void decline(Question question, const Failure& why);
  void locate_elsewhere(const Asker& asker) const;
  void close_room(std::uint64_t worker, const DataId& data);
  [[nodiscard]] std::shared_ptr<WorkerProcess> find_worker(std::uint64_t worker) const;
  static void refuse(const Asker& asker, const Failure& why);
  static void done(const Asker& asker, const DataId& data = {}, ByteCount bytes = {},
                   int descriptor = -1);

  Parts parts_;
  Elsewhere elsewhere_;
  bool names_data_ = false;
  /// Begins anywhere: what a gateway says to another process of this executor is not for this one.
  std::uint64_t last_question_;
  std::map<std::uint64_t, Question> questions_;
  std::map<std::uint32_t, TenantsQuestions> tenants_;  // by uid
  TimeLimit next_question_;                            // of those that wait
  /// What a worker was told of the last call that made something.
  std::unordered_map<std::uint64_t, ServiceAnswer> published_;
  /// The room that a worker has asked for last: a depot that was killed may have lost our answer.
  struct Creation {
    std::uint32_t sequence = 0;
    std::optional<DataId> room;  // nothing: it waits for the disk
  };
  std::unordered_map<std::uint64_t, Creation> creations_;  // by worker
  /// Rooms that a worker may have mapped, and how large.
  std::unordered_map<DataId, ByteCount> rooms_;
};

}  // namespace orchid::executor
