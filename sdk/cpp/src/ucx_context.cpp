#include "ucx_context.h"

namespace orchid::sdk {
namespace {

using Made = Result<transport::UcxContext>;

Made* make(transport::Fabric fabric) {
  return new Made(transport::UcxContext::create({.fabric = fabric}));
}

Made& context_for(transport::Fabric fabric) {
  if (fabric == transport::Fabric::trusted) {
    static Made* const trusted = make(transport::Fabric::trusted);
    return *trusted;
  }
  static Made* const tcp = make(transport::Fabric::tcp);
  return *tcp;
}

}  // namespace

Result<transport::UcxContext*> shared_ucx_context(transport::Fabric fabric) {
  Made& context = context_for(fabric);
  if (!context) return fail(context.error());
  return &*context;
}

}  // namespace orchid::sdk
