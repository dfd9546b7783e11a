// ucx/context.h: the ucp context behind UcxContext.
#pragma once
#include "transport/ucx_lane.h"
#include "ucx/library.h"

namespace orchid::transport {

/// Immutable; UCX locks what lanes of several threads share in it.
class UcxContext::State {
 public:
  State(const UcxLibrary& library, ucp_context_h context) : library_(library), context_(context) {}
  ~State() { library_.cleanup(context_); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  [[nodiscard]] const UcxLibrary& library() const { return library_; }
  [[nodiscard]] ucp_context_h context() const { return context_; }

 private:
  const UcxLibrary& library_;
  ucp_context_h context_;
};

}  // namespace orchid::transport
