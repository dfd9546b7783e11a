#include "ucx_context.h"

namespace orchid::sdk {

Result<transport::UcxContext*> shared_ucx_context() {
  static auto* const context = new Result<transport::UcxContext>(transport::UcxContext::create({}));
  if (!*context) return fail(context->error());
  return &**context;
}

}  // namespace orchid::sdk
