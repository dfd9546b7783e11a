#include "code/code_key.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include "foundation/files.h"
#include "orchid/function.h"
#include "protocol/digest.h"

namespace orchid::executor {

std::string CodeKey::name() const {
  return digest_of(as_bytes(text)).substr(std::string_view("sha256:").size());
}

CodeKey make_code_key(const TenantModule& module, const CompilerReady& compiler, CompileTier tier) {
  // What is kept from before there were GPUs stays valid.
  const std::string gpu = module.gpu.empty() ? "" : "gpu=" + module.gpu + "\n";
  return {fmt::format(
      "tenant={}\nmodule={}\ntriple={}\ncpu={}\nfeatures={}\nllvm={}\npipeline={}\ntier={}\nabi={}"
      "\nlibc={}\nlibstdc++={}\n{}",
      module.tenant, module.digest, compiler.triple, compiler.cpu, compiler.features, compiler.llvm,
      compiler.pipeline, to_string(tier), ORCHID_ABI_VERSION, ::gnu_get_libc_version(), __GLIBCXX__,
      gpu)};
}

}  // namespace orchid::executor
