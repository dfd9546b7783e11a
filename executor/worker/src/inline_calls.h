// worker/inline_calls.h: entries that another entry has run in its own place
// (orchid_invoke_inline).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "devices/device.h"
#include "hygiene.h"
#include "user_code/aligned_bytes.h"
#include "user_code/call_context.h"
#include "user_code/module_table.h"

namespace orchid::executor {

/// The worker's thread; one for all of its calls, one after the other. An entry that is invoked is
/// part of the call: its deadline, its log, its data objects. Its output goes to whoever has
/// invoked it.
class InlineCalls {
 public:
  /// So deep entries may invoke each other. Each needs some of the thread's stack.
  static constexpr unsigned most_levels = 32;
  struct Parts {
    const ModuleTable& modules;
    const Hygiene& hygiene;
    Device& cores;
    Device* gpu;  // null: it has none
  };
  explicit InlineCalls(const Parts& parts) : parts_(parts) {}

  struct Ask {
    std::string_view function;
    std::span<const std::byte> input;
    std::string_view missing = {};  // why its module is not here; empty: nobody has asked for it
  };
  /// Runs it, and returns its status, or what orchid_invoke_inline says in its place. `output` is
  /// valid until the caller's next one has returned, or the caller has.
  [[nodiscard]] std::int32_t run(orchid_call& caller, const Ask& ask,
                                 std::span<const std::byte>& output);
  /// Room for the output of the entry that runs at `level`, 1 at least. Null: no memory.
  [[nodiscard]] std::byte* output(unsigned level, std::size_t size);
  /// The call's entry has returned: frees what was kept, and ends the device that only others than
  /// the call's own module have used. Returns what Device::end_call says.
  [[nodiscard]] std::string_view end_call(const Device& of_call);

 private:
  struct Level {
    AlignedBytes result;   // of the last entry that the one at this level has invoked
    AlignedBytes written;  // by the entry that runs at this level
  };
  [[nodiscard]] std::int32_t run_entry(orchid_call& call, EntryFunction entry,
                                       std::span<const std::byte> input) const;
  void explain(orchid_call& call, std::int32_t status, std::string_view function) const;

  Parts parts_;
  std::array<Level, most_levels + 1> levels_;
  bool used_ = false;  // by the running call
};

}  // namespace orchid::executor
