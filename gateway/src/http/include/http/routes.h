// http/routes.h: how a folder brings its routes to the HTTP threads.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include "foundation/task.h"
#include "http/router.h"

namespace orchid::gateway {

/// What answers some requests on one HTTP thread. Owned by that thread; outlives its router.
class Routes {
 public:
  virtual ~Routes() = default;
  virtual void add_to(Router& router) = 0;
};

/// An HTTP thread, to those whose routes it is to have.
struct HttpThreadPort {
  std::size_t number = 0;  // from 0
  Poster here;
};

/// Called for each HTTP thread, before it runs.
using MakeRoutes = std::function<std::unique_ptr<Routes>(const HttpThreadPort&)>;

/// Of routes that need what all threads share, and the way back to their own: `Type::Parts` is
/// `shared`, then `here`. `shared` outlives the threads.
template <typename Type, typename... Shared>
[[nodiscard]] MakeRoutes make_routes(Shared&... shared) {
  return [&shared...](const HttpThreadPort& thread) {
    return std::make_unique<Type>(typename Type::Parts{shared..., thread.here});
  };
}

}  // namespace orchid::gateway
