#include "jit/diagnostics.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <utility>

#include "jit/code_generator.h"

namespace orchid::executor {
namespace {

class Collector final : public llvm::DiagnosticHandler {
 public:
  explicit Collector(std::vector<std::string>& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    constexpr std::size_t enough = 100;
    if (info.getSeverity() != llvm::DS_Error || errors_.size() >= enough) return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    errors_.push_back(stream.str());
    return true;  // handled: LLVM neither prints it nor exits
  }

 private:
  std::vector<std::string>& errors_;
};

struct FatalErrorTarget {
  FatalErrorReport report = nullptr;
  void* context = nullptr;
};
FatalErrorTarget fatal_error_target;  // LLVM's handlers are global as well

constexpr int software_failure = 70;  // EX_SOFTWARE

[[noreturn]] void end_process(const char* reason, bool out_of_memory) {
  // A report that itself fails fatally must not come back here.
  const FatalErrorTarget target = std::exchange(fatal_error_target, {});
  if (target.report != nullptr) target.report(target.context, reason, out_of_memory);
  ::_exit(software_failure);
}

}  // namespace

void report_fatal_errors_to(FatalErrorReport report, void* context) {
  fatal_error_target = {report, context};
  llvm::install_fatal_error_handler(
      [](void*, const char* reason, bool) { end_process(reason, false); });
  llvm::install_bad_alloc_error_handler(
      [](void*, const char* reason, bool) { end_process(reason, true); });
  llvm::install_out_of_memory_new_handler();
}

void Diagnostics::attach(llvm::LLVMContext& context) {
  context.setDiagnosticHandler(std::make_unique<Collector>(errors_));
}

Result<void> Diagnostics::result() const {
  if (errors_.empty()) return {};
  return reject("the module cannot be compiled: " + join(errors_));
}

std::string join(const std::vector<std::string>& problems) {
  constexpr std::size_t longest = 16 * 1024;
  std::string text;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (text.size() + problems[i].size() > longest) {
      text += i == 0 ? problems[i].substr(0, longest) + "…"
                     : "; and " + std::to_string(problems.size() - i) + " more";
      break;
    }
    if (i > 0) text += "; ";
    text += problems[i];
  }
  return text;
}

std::unexpected<Failure> reject(std::string message) {
  return fail(ErrorCode::module_rejected, std::move(message));
}

}  // namespace orchid::executor
