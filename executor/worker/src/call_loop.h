// worker/call_loop.h: takes calls from the lane, runs them one at a time, and obeys the agent in
// between.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "call_memory.h"
#include "call_objects.h"
#include "crew/crew_lane.h"
#include "data_mappings.h"
#include "devices/device.h"
#include "foundation/tick_clock.h"
#include "foundation/unique_fd.h"
#include "hygiene.h"
#include "inline_calls.h"
#include "jit/linker.h"
#include "lane_wait.h"
#include "made_modules.h"
#include "protocol/data_table.h"
#include "transport/local_lane.h"
#include "user_code/call_context.h"
#include "user_code/call_log.h"
#include "user_code/crash_report.h"
#include "user_code/module_table.h"
#include "worker/messages.h"
#include "worker/status_page.h"

namespace orchid::executor {

/// The worker's one thread runs it.
class CallLoop {
 public:
  struct Parts {
    transport::LaneWorker& lane;
    StatusPage& page;
    CallLog& log;
    Hygiene& hygiene;
    Device& cores;
    Device* gpu;  // null: it has none
    CodeMap& code;
    ModuleTable& modules;
    DataMappings& data;
    CallObjects& objects;
    CallMemory& memory;
    MadeModules& made;
    const TickRate& rate;
    int control;  // packet socket to the agent
    std::int32_t core;
    std::atomic<std::uint64_t>& progress;  // of the lane to a client of this host
    CrewLane* crew = nullptr;              // the lane, of a member of a crew; null: of none
  };
  explicit CallLoop(const Parts& parts);
  [[noreturn]] void run();

 private:
  struct Verdict {
    Outcome outcome = Outcome::ok;
    std::string_view message;
  };
  void wait();
  void block();
  [[nodiscard]] bool has_orders() const {
    return parts_.page.attention.load(std::memory_order_acquire) != attention_seen_;
  }
  [[noreturn]] void await_end(const std::string& why);
  [[nodiscard]] bool heard_more();
  void obey_control();
  void obey(const WorkerMessage& message, std::vector<UniqueFd>& descriptors);
  void load(const Load& message, UniqueFd code);
  void refuse(const Load& message, const std::string& why, bool ends);
  void improve(const Improve& message, int code);
  void map_data(const MapData& message, int file);
  [[nodiscard]] bool bring_code(transport::LaneRequest& request);
  void execute(const transport::LaneRequest& request);
  [[nodiscard]] bool find_data(const transport::LaneRequest& request);
  [[nodiscard]] Verdict run_entry(EntryFunction entry, orchid_call& call,
                                  std::span<std::byte> input);
  [[nodiscard]] Verdict verdict_of(std::int32_t status, orchid_call& call);
  [[nodiscard]] ByteCount output_limit_of(bool streams) const {
    if (parts_.crew != nullptr) return std::min(output_limit_, crew::payload_size);
    return streams ? std::min(output_limit_, limits::chunk_size) : output_limit_;
  }
  void finish(const transport::LaneRequest& request, const orchid_call& call,
              const Verdict& verdict);
  [[nodiscard]] Verdict end_objects(const Verdict& verdict);
  [[nodiscard]] Verdict judge_step(const Verdict& verdict) const;
  [[nodiscard]] bool was_refused_memory() const;
  [[noreturn]] void end(LastWords words, std::string_view why);
  void report(const WorkerMessage& message);

  Parts parts_;
  InlineCalls inline_calls_;
  std::uint64_t number_ = 0;    // of calls taken
  std::uint64_t last_end_ = 0;  // in ticks; a call that follows at once started then; 0: none does
  LaneWait wait_;
  ByteCount output_limit_ = limits::output_size;
  std::int32_t core_count_ = 1;
  std::uint32_t attention_seen_ = 0;
  std::string fallback_message_;
  std::array<char, limits::message_size.value> message_{};
  /// Of the running call: the bytes of its table, and what that names.
  std::size_t table_bytes_ = 0;
  std::size_t data_count_ = 0;
  std::array<CallData, limits::data_per_call> call_data_{};
};

}  // namespace orchid::executor
