// data/data_keeper.h: outputs of calls on their way into data objects.
#pragma once
#include <boost/asio/io_context.hpp>

#include "calls/output_keeper.h"
#include "data/data_service.h"
#include "foundation/background_thread.h"
#include "foundation/clock.h"
#include "foundation/task.h"

namespace orchid::gateway {

/// For one HTTP thread. All in `parts` outlives it.
struct DataKeeperParts {
  DataService& data;  // on the control thread
  boost::asio::io_context& io;
  const Clock& clock;
  Poster control;
  Poster here;
  BackgroundThread& closing;  // as of DataRoutes
};
[[nodiscard]] OutputKeeper make_output_keeper(DataKeeperParts parts);

}  // namespace orchid::gateway
