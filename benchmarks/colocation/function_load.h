// colocation/function_load.h: an Orchid with one core as a pilot would grant it, and a client that
// keeps it busy with a function that streams through memory.
#pragma once
#include <atomic>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "foundation/units.h"
#include "harness/child_process.h"
#include "orchid/client.h"
#include "orchid/lease.h"

namespace orchid::bench::colocation {

/// Gateway, executor and client all live on one core. Owned by one thread.
class FunctionLoad {
 public:
  struct Options {
    std::filesystem::path programs;
    std::filesystem::path module;
    int core = 0;      // theirs
    int job_core = 0;  // the caller's: its thread is bound to it afterwards
    ByteCount cap;     // --bandwidth-cap; 0: none
  };
  /// Threads of the client inherit the core of the calling thread, so that is bound to theirs
  /// meanwhile. Throws std::runtime_error or orchid::Error when it does not come up. The function
  /// has run, and with a cap has been measured.
  explicit FunctionLoad(const Options& options);
  ~FunctionLoad();
  FunctionLoad(const FunctionLoad&) = delete;
  FunctionLoad& operator=(const FunctionLoad&) = delete;

  /// Calls, one after the other, until `pause`. Returns when one runs.
  void go_on();
  /// What the function has moved since `go_on`, in bytes per second of its calls. Throws what a
  /// call has thrown.
  double pause();

 private:
  /// A directory of its own, removed at the end.
  struct Directory {
    Directory();
    ~Directory();
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    std::filesystem::path path;
  };
  void call(int milliseconds);
  Directory directory_;
  ChildProcess gateway_;
  ChildProcess executor_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Lease> lease_;
  std::unique_ptr<LeasedFunction> function_;
  int core_;
  std::atomic<bool> wanted_ = false;
  std::atomic<bool> running_ = false;
  std::uint64_t bytes_ = 0;        // of the calling thread while there is one
  std::uint64_t nanoseconds_ = 0;  // the same
  std::exception_ptr failure_;     // the same
  std::thread caller_;
};

}  // namespace orchid::bench::colocation
