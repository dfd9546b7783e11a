// foundation/task.h: a piece of work that moves to another thread, and how to hand it over.
#pragma once
#include <functional>

namespace orchid {

/// It may own what cannot be copied, and is called at most once.
using Task = std::move_only_function<void()>;

/// Hands a task to one particular thread, which runs it later, in the order of the calls. Callable
/// on any thread.
using Poster = std::function<void(Task)>;

}  // namespace orchid
