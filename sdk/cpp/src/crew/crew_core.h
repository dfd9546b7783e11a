// crew/crew_core.h: what is behind a Crew: its members' conversations with the executor, the rings,
// and the calls under way.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "crew/call_trace.h"
#include "crew/crew_call.h"
#include "crew/crew_connection.h"
#include "crew/crew_places.h"
#include "crew/crew_source.h"
#include "crew/made_book.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "lane_client/executor_message.h"
#include "lease/lane_socket.h"
#include "protocol/crew.h"
#include "transport/answer_shelf.h"
#include "transport/crew_end.h"

namespace orchid::sdk {

/// Any thread. One mutex guards all that changes. A thread of its own, the driver, hears the
/// executor, forms the crew, and takes answers that no caller waits for; only it opens and closes
/// descriptors, but for a thread that connects with members elsewhere. Another one, the keeper,
/// asks the gateway, so that no call ever waits for that.
class CrewCore {
 public:
  /// Takes a lease and waits until the crew stands. Throws `orchid::Error`, and has released the
  /// lease then.
  [[nodiscard]] static std::shared_ptr<CrewCore> open(const CrewOptions& options,
                                                      std::unique_ptr<CrewSource> source);
  CrewCore(const CrewOptions& options, std::unique_ptr<CrewSource> source, LeaseGrant grant);
  CrewCore(const CrewCore&) = delete;
  CrewCore& operator=(const CrewCore&) = delete;
  ~CrewCore();

  /// Sends the call, or lets it wait until it can be sent.
  void submit(const std::shared_ptr<CrewCall>& call);
  /// The driver looks closely from now on, until no call is under way.
  void look_closely();
  /// Helps for as long as waiting callers spin; its result may be there then.
  void drive_for(const std::shared_ptr<CrewCall>& call);
  void cancel(const std::shared_ptr<CrewCall>& call);
  /// Returns when all members have loaded the module. Throws when no crew stands for too long.
  [[nodiscard]] std::shared_ptr<CrewModule> load(std::string digest, std::string function,
                                                 UniqueFd file);
  void release();

  [[nodiscard]] std::string id() const;
  [[nodiscard]] unsigned members() const { return members_; }
  [[nodiscard]] unsigned formations() const;
  [[nodiscard]] std::vector<std::int64_t> pids() const;
  [[nodiscard]] CrewSource& source() const { return *source_; }

  static constexpr std::size_t most_modules = 64;
  static constexpr std::size_t most_questions =
      1024;  // of executors, that nobody has looked up yet

 private:
  /// A member as its executor tells of it.
  struct Seat {
    CrewPlaces::Seat place;
    std::optional<LaneSocket> socket;
    std::int64_t pid = 0;
    std::uint64_t worker = 0;              // its number, of the crew that stands
    bool ended = false;                    // its worker, of the crew that stands or has stood
    std::optional<MonotonicTime> gone_at;  // its connection is lost; its worker, from then on
    std::optional<LaneClaimed> claimed;    // its next worker
    std::vector<UniqueFd> descriptors;     // of that
    bool wire_sent = false;                // to that
    bool wired = false;                    // it has said so
  };
  /// Its lease is lost, and not all of its members are known to be gone.
  struct Leaving {
    std::string why;
    MonotonicTime until;
  };
  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] static Error::Details no_crew_in_time();

  // The driver: crew_driver.cpp.
  void drive();
  void work(Lock& lock);
  [[nodiscard]] bool sleep(Lock& lock);
  void claim_members(Lock& lock, const LeaseGrant& grant);
  [[nodiscard]] bool hear_seat(std::size_t index);
  void hear(std::size_t index, Packet& packet);
  void hear(std::size_t index, const lane_client::ExecutorMessage& message, Packet& packet);
  void hear_slot(std::size_t index, const LaneSlot& slot);
  void hear_rejected(const LaneRejected& rejected);
  void need_code(std::size_t index, const std::string& digest);
  void want_module(std::size_t index, const std::string& name);
  void send_code(CrewModule& module);
  void announce(const CrewModule& module);
  void advance();
  void stand(std::uint32_t members);

  // A crew at several executors: crew_spread.cpp.
  [[nodiscard]] bool hear_spread(std::size_t index, Packet& packet);
  void keep_made(std::size_t index, const LaneMade& made, Packet& packet);
  void wire_members();
  void take_connection();
  void stop_wiring();
  void end_wiring(const std::string& why);
  void tell_all(const LaneMessage& message);

  // How it is lost: crew_loss.cpp.
  void hear_ended(std::size_t index, const LaneEnded& ended);
  [[nodiscard]] bool begin_loss();
  void give_up_members();
  void tell_of_loss(const std::string& why);
  void part(const std::string& why);
  void break_up(const std::string& why);
  void lose_connection(std::size_t index);
  void drop_executor(std::size_t index, const std::string& why);
  void lose_lease(const std::string& why);
  [[nodiscard]] bool is_gone(const Seat& seat, MonotonicTime now) const;
  void leave_lease();
  void end_loss();

  // The keeper.
  void keep();
  void renew(Lock& lock);
  void take_lease(Lock& lock);
  void tell_traced(Lock& lock);
  void fetch(Lock& lock, const std::shared_ptr<CrewModule>& module);
  void look_up(Lock& lock, const std::string& wanted);
  void locate(Lock& lock, const std::string& wanted);

  // Calls: crew_core.cpp.
  void launch();
  [[nodiscard]] bool send(const std::shared_ptr<CrewCall>& call);
  [[nodiscard]] std::optional<std::span<const std::byte>> build(CrewCall& call,
                                                                std::uint64_t request_id);
  void take_answers();
  void take_answer(const transport::CrewMessage& message);
  void find_kept_answers();
  void give_kept_answers(const CrewCall& call, std::uint64_t request_id);
  void take_back_all(bool all_began);
  void judge_lost(const std::shared_ptr<CrewCall>& call, const LaneEnded* named, bool began);
  void obey_stops();
  void expire(MonotonicTime now);
  void order_end(std::uint32_t place);
  void finish(CrewCall& call, Reply reply);
  void fail(CrewCall& call, ErrorKind kind, std::string message, std::string log = {});
  void fail_waiting(const CrewModule& module);
  void remember(const CrewCall& call, std::string outcome, std::string message, Trace trace);
  [[nodiscard]] bool is_loaded(const CrewModule& module) const {
    return module.loaded_at.size() == seats_.size() && !seats_.empty();
  }
  [[nodiscard]] bool stands() const { return end_.has_value() && !losing_; }
  void poke() const;

  const CrewOptions options_;
  const std::unique_ptr<CrewSource> source_;

  std::atomic<unsigned> members_ = 0;  // of the lease that it has, or had last

  mutable std::mutex mutex_;         // of all below
  std::condition_variable changed_;  // a module is loaded or refused, the crew stands or is over
  std::condition_variable wanted_;   // the keeper has something to do
  std::string lease_;
  std::string node_;
  std::optional<LeaseGrant> grant_;  // taken, and not claimed yet
  std::vector<Seat> seats_;
  std::optional<transport::CrewEnd> end_;
  std::vector<transport::AnswerShelf> shelves_;  // by member, from 1; none of those elsewhere
  std::vector<UniqueFd> wake_;                   // what it borrows
  bool spread_ = false;                          // not all of it is at one executor of this host
  bool wiring_ = false;                          // its members are told of each other
  std::unique_ptr<CrewConnection> connection_;   // being made, of that crew or of an earlier one
  std::unique_ptr<transport::CrewMesh> mesh_;    // wired, for the crew that is to stand
  bool losing_ = false;       // a member has ended, and not all are known to have
  MonotonicTime gone_until_;  // then those that are not are given up
  bool taken_back_ = false;   // its lease
  std::optional<Leaving> leaving_;
  bool broken_ = false;           // a member has written nonsense
  std::vector<LaneEnded> named_;  // what executors say of calls that ran
  std::string why_lost_;          // what they say of the member that ended first
  bool wants_lease_ = false;
  bool idle_ = true;  // the driver sleeps until something is told to it
  bool stopping_ = false;
  unsigned formations_ = 0;
  std::optional<Error::Details> why_none_;                      // the last lease, or the next one
  std::map<std::string, std::shared_ptr<CrewModule>> modules_;  // by digest
  std::deque<std::shared_ptr<CrewModule>> fetches_;
  std::map<std::string, std::set<std::size_t>> look_ups_;  // what calls want: seats, by its name
  std::map<std::string, std::set<std::size_t>> locates_;   // where calls want to go: likewise
  MadeBook made_;                                          // of a crew at several executors
  std::deque<TracedCall> traced_;                  // that the gateway is still to be told of
  std::deque<std::shared_ptr<CrewCall>> waiting_;  // in the order in which they are begun
  std::array<std::shared_ptr<CrewCall>, crew::window_places> flights_{};  // by place
  std::array<std::uint64_t, crew::window_places> numbers_{};              // of these
  bool answered_ = false;        // one of them, since deadlines were looked at
  MonotonicTime answered_at_{};  // about, the last one
  std::vector<std::uint32_t> free_places_;
  std::uint64_t rounds_ = 0;
  UniqueFd poke_;
  std::thread driver_;
  std::thread keeper_;
};

}  // namespace orchid::sdk
