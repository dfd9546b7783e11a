// ucx/context.h: the ucp context behind UcxContext.
#pragma once
#include <mutex>
#include <string>
#include <utility>

#include "transport/ucx_lane.h"
#include "ucx/library.h"

namespace orchid::transport {

/// Any thread; UCX locks what lanes of several threads share in it.
class UcxContext::State {
 public:
  State(const UcxLibrary& library, ucp_context_h context, std::string description, bool uses_verbs)
      : library_(library),
        context_(context),
        description_(std::move(description)),
        uses_verbs_(uses_verbs) {}
  ~State() { library_.cleanup(context_); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  [[nodiscard]] const UcxLibrary& library() const { return library_; }
  [[nodiscard]] ucp_context_h context() const { return context_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] bool uses_verbs() const { return uses_verbs_; }
  /// Held while a UCX worker is made, so that its doors can be told from another lane's.
  [[nodiscard]] std::mutex& making_worker() { return making_worker_; }

 private:
  const UcxLibrary& library_;
  ucp_context_h context_;
  const std::string description_;
  const bool uses_verbs_;
  std::mutex making_worker_;
};

}  // namespace orchid::transport
