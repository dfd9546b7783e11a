#include "jit/outer_loops.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include <algorithm>
#include <vector>

namespace llvm {
// Exported by LLVM 19, and declared in none of its headers.
extern cl::opt<bool> EnableVPlanNativePath;
}  // namespace llvm

namespace orchid::executor {
namespace {

constexpr const char* wish = "llvm.loop.vectorize.enable";
constexpr const char* promise = "llvm.loop.parallel_accesses";

/// It says something about the program, and computes nothing.
bool is_remark(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr &&
         (call->getIntrinsicID() == llvm::Intrinsic::assume ||
          call->getIntrinsicID() == llvm::Intrinsic::experimental_noalias_scope_decl);
}

bool is_scalar(const llvm::Type* type) {
  return type->isVoidTy() || type->isIntegerTy() || type->isPointerTy() || type->isFloatTy() ||
         type->isDoubleTy();
}

/// Not on the stack, for all that can be seen: what lies there belongs to one iteration.
bool is_shared_memory(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  constexpr unsigned to_the_end = 0;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, to_the_end);
  return std::ranges::all_of(objects, [](const llvm::Value* object) {
    return llvm::isa<llvm::Argument, llvm::GlobalVariable, llvm::LoadInst>(object);
  });
}

/// What stays a scalar in the vector's form of it is the same for all iterations of `outer`.
bool is_translated(const llvm::IntrinsicInst& call, const llvm::Loop& outer) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  if (!llvm::isTriviallyVectorizable(id)) return false;
  for (unsigned i = 0; i < call.arg_size(); ++i)
    if (llvm::isVectorIntrinsicWithScalarOpAtArg(id, i) &&
        !outer.isLoopInvariant(call.getArgOperand(i)))
      return false;
  return true;
}

bool is_translated(const llvm::Instruction& instruction, const llvm::Loop& outer) {
  if (!is_scalar(instruction.getType())) return false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isSimple();
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return store->isSimple() && is_scalar(store->getValueOperand()->getType()) &&
           !store->getValueOperand()->getType()->isPointerTy() &&
           is_shared_memory(store->getPointerOperand());
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return is_translated(*call, outer);
  return llvm::isa<llvm::PHINode, llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst,
                   llvm::CmpInst, llvm::SelectInst, llvm::GetElementPtrInst, llvm::BranchInst>(
      instruction);
}

/// It runs as often for each iteration of `outer`. As LoopVectorizationLegality has it: a loop that
/// the vectoriser takes and then refuses would keep it from those inside.
bool is_uniform(const llvm::Loop& loop, const llvm::Loop& outer) {
  const llvm::PHINode* counter = loop.getCanonicalInductionVariable();
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  if (counter == nullptr || latch == nullptr || loop.getExitingBlock() != latch) return false;
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (branch == nullptr || !branch->isConditional()) return false;
  const auto* compare = llvm::dyn_cast<llvm::CmpInst>(branch->getCondition());
  if (compare == nullptr) return false;
  const llvm::Value* next = counter->getIncomingValueForBlock(latch);
  const llvm::Value* left = compare->getOperand(0);
  const llvm::Value* right = compare->getOperand(1);
  return (left == next && outer.isLoopInvariant(right)) ||
         (right == next && outer.isLoopInvariant(left));
}

/// Only for the ends of inner loops, or the same way for all iterations of `outer`.
bool is_uniform(const llvm::BasicBlock& block, const llvm::Loop& outer,
                const llvm::LoopInfo& loops) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch != nullptr &&
         (!branch->isConditional() || outer.isLoopInvariant(branch->getCondition()) ||
          loops.isLoopHeader(branch->getSuccessor(0)) ||
          loops.isLoopHeader(branch->getSuccessor(1)));
}

bool is_translated(const llvm::Loop& loop, const llvm::LoopInfo& loops) {
  const auto all_loops = loop.getLoopsInPreorder();
  return loop.getExitingBlock() == loop.getLoopLatch() &&
         std::ranges::all_of(
             all_loops,
             [&](const llvm::Loop* inner) { return inner == &loop || is_uniform(*inner, loop); }) &&
         std::ranges::all_of(loop.blocks(), [&](const llvm::BasicBlock* block) {
           return is_uniform(*block, loop, loops) &&
                  std::ranges::all_of(*block, [&loop](const llvm::Instruction& instruction) {
                    return is_remark(instruction) || is_translated(instruction, loop);
                  });
         });
}

bool writes_to_own_memory(const llvm::Loop& loop) {
  return std::ranges::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return std::ranges::any_of(*block, [](const llvm::Instruction& instruction) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      return store != nullptr && !is_shared_memory(store->getPointerOperand());
    });
  });
}

/// The vectoriser then looks for itself whether iterations depend on each other.
void drop_promise(llvm::Loop& loop) {
  llvm::MDNode* id = loop.getLoopID();
  loop.setLoopID(llvm::makePostTransformationMetadata(id->getContext(), id, {promise}, {}));
}

void drop_remarks(const llvm::Loop& loop) {
  for (llvm::BasicBlock* block : loop.blocks())
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block))
      if (is_remark(instruction)) instruction.eraseFromParent();
}

/// While one lives, LLVM's vectoriser takes outer loops, and puts no check before an inner loop
/// whose arrays may overlap (InnerLoopVectorizer::emitMemRuntimeChecks): no inner loop that anybody
/// has written may meet it.
class TakesOuterLoops {
 public:
  TakesOuterLoops() { llvm::EnableVPlanNativePath = true; }
  ~TakesOuterLoops() { llvm::EnableVPlanNativePath = false; }
  TakesOuterLoops(const TakesOuterLoops&) = delete;
  TakesOuterLoops& operator=(const TakesOuterLoops&) = delete;
};

/// While one lives, no inner loop of a function wishes for anything. Those within a loop that is to
/// be taken never do again: vector items compute as the scalar ones that are left over.
class SilentInnerLoops {
 public:
  explicit SilentInnerLoops(const llvm::LoopInfo& loops) {
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (!loop->isInnermost() || llvm::findOptionMDForLoop(loop, wish) == nullptr) continue;
      llvm::MDNode* id = loop->getLoopID();
      llvm::BasicBlock* latch = loop->getLoopLatch();
      if (latch == nullptr || is_in_wished_one(*loop)) {
        llvm::addStringMetadataToLoop(loop, wish, 0);
        continue;
      }
      wishes_.push_back({llvm::WeakVH(latch->getTerminator()), id});
      loop->setLoopID(llvm::makePostTransformationMetadata(id->getContext(), id, {wish}, {}));
    }
  }
  ~SilentInnerLoops() {
    for (const Wish& one : wishes_)
      if (auto* end = llvm::dyn_cast_or_null<llvm::Instruction>(static_cast<llvm::Value*>(one.end)))
        end->setMetadata(llvm::LLVMContext::MD_loop, one.loop_id);
  }
  SilentInnerLoops(const SilentInnerLoops&) = delete;
  SilentInnerLoops& operator=(const SilentInnerLoops&) = delete;

 private:
  struct Wish {
    llvm::WeakVH end;  // the branch back to the loop's begin; nothing: the loop has gone
    llvm::MDNode* loop_id;
  };
  static bool is_in_wished_one(const llvm::Loop& loop) {
    for (const llvm::Loop* outer = loop.getParentLoop(); outer != nullptr;
         outer = outer->getParentLoop())
      if (llvm::getBooleanLoopAttribute(outer, wish)) return true;
    return false;
  }
  std::vector<Wish> wishes_;
};

class ItemLoopPass : public llvm::PassInfoMixin<ItemLoopPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    const llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    if (!prepare(loops)) return llvm::PreservedAnalyses::all();
    const SilentInnerLoops silent(loops);
    const TakesOuterLoops taking;
    return llvm::LoopVectorizePass({/*InterleaveOnlyWhenForced=*/true,
                                    /*VectorizeOnlyWhenForced=*/true})
        .run(function, analyses);
  }

 private:
  /// Whether there is an outer loop to be taken. None but those wishes for it then.
  static bool prepare(const llvm::LoopInfo& loops) {
    bool has_some = false;
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
      const bool promises = llvm::findOptionMDForLoop(loop, promise) != nullptr;
      if (loop->isInnermost()) {
        if (promises && writes_to_own_memory(*loop)) drop_promise(*loop);
      } else if (llvm::findOptionMDForLoop(loop, wish) != nullptr) {
        if (promises && is_translated(*loop, loops)) {
          drop_remarks(*loop);
          has_some = true;
        } else {
          llvm::addStringMetadataToLoop(loop, wish, 0);
        }
      }
    }
    return has_some;
  }
};

}  // namespace

void vectorise_outer_loops(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager& passes, llvm::OptimizationLevel level) {
        if (level != llvm::OptimizationLevel::O0) passes.addPass(ItemLoopPass());
      });
}

}  // namespace orchid::executor
