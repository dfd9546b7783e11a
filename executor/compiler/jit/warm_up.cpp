#include "jit/warm_up.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

namespace orchid::executor {
namespace {

// A loop to vectorise, a call, a branch table, a copy, an exception that is caught, a thread-local
// variable, a big frame.
constexpr const char* text = R"ir(
@counter = internal thread_local global i64 0
@table = internal constant [4 x i32] [i32 3, i32 5, i32 7, i32 11]
declare double @sin(double)
declare void @consume(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
declare i32 @__gxx_personality_v0(...)

define void @saxpy(ptr noalias %x, ptr noalias %y, float %a, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr inbounds float, ptr %x, i64 %i
  %py = getelementptr inbounds float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %product = fmul fast float %vx, %a
  %sum = fadd fast float %product, %vy
  store float %sum, ptr %py
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

define i32 @orchid_entry_warm_up(ptr %call, ptr %input, i64 %size) personality ptr @__gxx_personality_v0 {
entry:
  %frame = alloca [16384 x i8]
  call void @llvm.memcpy.p0.p0.i64(ptr %frame, ptr %input, i64 %size, i1 false)
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %angle = sitofp i64 %size to double
  %sine = call double @sin(double %angle)
  %scale = fptrunc double %sine to float
  call void @saxpy(ptr %frame, ptr %input, float %scale, i64 %size)
  invoke void @consume(ptr %frame) to label %fine unwind label %caught
fine:
  %kind = trunc i64 %size to i32
  switch i32 %kind, label %other [ i32 0, label %a
                                   i32 1, label %b
                                   i32 2, label %c
                                   i32 3, label %d
                                   i32 4, label %e ]
a:
  ret i32 17
b:
  ret i32 3
c:
  ret i32 99
d:
  ret i32 -4
e:
  ret i32 12
other:
  %index = and i64 %size, 3
  %slot = getelementptr [4 x i32], ptr @table, i64 0, i64 %index
  %value = load i32, ptr %slot
  %rest = urem i32 %kind, %value
  ret i32 %rest
caught:
  %pad = landingpad { ptr, i32 } catch ptr null
  %exception = extractvalue { ptr, i32 } %pad, 0
  %object = call ptr @__cxa_begin_catch(ptr %exception)
  call void @__cxa_end_catch()
  ret i32 1
}
)ir";

}  // namespace

std::unique_ptr<llvm::Module> make_warm_up_module(llvm::LLVMContext& context) {
  llvm::SMDiagnostic fault;
  return llvm::parseAssemblyString(text, fault, context);
}

}  // namespace orchid::executor
