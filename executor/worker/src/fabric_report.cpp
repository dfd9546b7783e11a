#include "fabric_report.h"

#include "foundation/sockets.h"
#include "transport/ucx_lane.h"
#include "worker/messages.h"

namespace orchid::executor {

int report_fabric(int control) {
  const auto context = transport::UcxContext::create({.fabric = transport::Fabric::trusted});
  const FabricFound found =
      context ? FabricFound{.verbs = context->uses_verbs(), .description = context->description()}
              : FabricFound{.description = context.error().message, .usable = false};
  return send_packet(control, encode(found)) ? 0 : 1;
}

}  // namespace orchid::executor
