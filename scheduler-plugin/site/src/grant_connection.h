// grant_connection.h: one placeholder, from its offer to the moment when its cores are clear.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor_process.h"
#include "foundation/clock.h"
#include "foundation/sockets.h"
#include "peer_process.h"
#include "site/executor_arguments.h"
#include "site/grant_decision.h"
#include "site/slot_book.h"
#include "slot_folders.h"
#include "slurm_inquiry.h"

namespace orchid::site {

/// What all grants of a host share. Owned by the service, outlives its connections.
struct HostSurroundings {
  HostConfiguration configuration;
  SlotFolders folders;
  SlotBook slots;
  std::vector<std::uint32_t> thread_order;
  std::string boot_id;
  std::string lane_listen;  // empty: none
};

/// The other connections.
class GrantTable {
 public:
  virtual ~GrantTable() = default;
  /// Grants whose executors have not been told to go.
  [[nodiscard]] virtual std::vector<StandingGrant> standing() const = 0;
  /// One question to Slurm for each user at a time, and few in all.
  [[nodiscard]] virtual bool may_ask(uid_t uid) const = 0;
};

/// Owned by the service's thread. Functions whose names end in `_came` or `_ended` are for when
/// their descriptor is readable.
class GrantConnection {
 public:
  /// Who has made no offer by then is cut off.
  static constexpr std::chrono::seconds offer_within{5};
  /// From the word to go until an executor that is still there is killed: its own limit is 1 s.
  static constexpr std::chrono::milliseconds leave_within{1'500};
  /// From an executor's fork until it is one: the job's own processes may be in its way.
  static constexpr std::chrono::seconds start_within{2};

  GrantConnection(HostSurroundings& host, const GrantTable& table, UniqueFd socket,
                  PeerProcess peer, MonotonicTime now);
  GrantConnection(const GrantConnection&) = delete;
  GrantConnection& operator=(const GrantConnection&) = delete;

  void message_came(MonotonicTime now);
  void peer_ended(MonotonicTime now);
  void answer_came(MonotonicTime now);
  void start_came(MonotonicTime now);
  void executor_ended(MonotonicTime now);
  void tick(MonotonicTime now);
  /// The service ends.
  void stop(MonotonicTime now);

  // -1: nothing is to be waited for there.
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] int peer() const { return socket_ ? peer_.descriptor.get() : -1; }
  [[nodiscard]] int answer() const { return inquiry_ ? inquiry_->descriptor() : -1; }
  [[nodiscard]] int starting() const { return executor_ ? executor_->report.descriptor() : -1; }
  [[nodiscard]] int executor() const { return executor_ ? executor_->process.descriptor() : -1; }
  /// Nothing of it is left.
  [[nodiscard]] bool is_over() const { return !socket_ && !slot_; }
  [[nodiscard]] uid_t uid() const { return peer_.uid; }
  [[nodiscard]] bool has_offered() const { return offer_.has_value(); }
  [[nodiscard]] bool is_asking() const { return inquiry_.has_value(); }
  /// Nothing: there is none, or its executor has been told to go.
  [[nodiscard]] std::optional<StandingGrant> standing() const;

 private:
  [[nodiscard]] Result<void> take_offer(Packet packet, MonotonicTime now);
  [[nodiscard]] Result<void> decide(std::optional<JobOnNode> slurm, MonotonicTime now);
  [[nodiscard]] Result<void> start_executor(MonotonicTime now);
  [[nodiscard]] Result<SlotBook::Taken> take_slot();
  [[nodiscard]] Result<void> start_in_slot(const SlotBook::Taken& slot);
  void give_up_start(const Failure& why, MonotonicTime now);
  void refuse(const Failure& why);
  void tell(const GrantMessage& message, const UniqueFd& descriptor = UniqueFd());
  void leave(std::string_view why, MonotonicTime now);
  void clear_slot();

  HostSurroundings& host_;
  const GrantTable& table_;
  UniqueFd socket_;
  PeerProcess peer_;
  MonotonicTime since_;
  std::optional<GrantOffer> offer_;
  GrantUsers users_ = GrantUsers::owner;
  ProvenStep step_;
  CoreList cores_;
  std::optional<SlurmInquiry> inquiry_;
  std::optional<std::uint32_t> slot_;  // until nothing runs under its uid any more
  std::optional<processes::StartingChild> executor_;
  MonotonicTime started_at_;              // its fork
  UniqueFd feed_writer_;                  // for the placeholder; until it is told
  std::optional<MonotonicTime> left_at_;  // when the executor was told to go
  std::optional<GrantClear> ended_;       // how it did; to be told when its slot is clear
};

}  // namespace orchid::site
