; What Numba 0.61.2 (LLVM 15) prints for the Python of docs/guide/writing-functions.md. Its runtime is in it, which calls
; what is nowhere, and which nothing calls.
; ModuleID = 'mean'
source_filename = "<string>"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

@_ZN08NumbaEnv8__main__4meanB2v1B52c8tJTIeFIjxB2IKSgI4CrvQClUYkACQB1EiFSRRB9GgCAA_3d_3dE7void_2a10float64_2ay = common local_unnamed_addr global i8* null
@_ZN08NumbaEnv5numba2np8arrayobj11impl_carray12_3clocals_3e4implB2v2B42c8tJTIeFIjxB2IKSgI4CrvQClcaMQ5hEEUSJJgA_3dE10float64_2ax27omitted_28default_3dNone_29 = common local_unnamed_addr global i8* null

define i32 @_ZN8__main__4meanB2v1B52c8tJTIeFIjxB2IKSgI4CrvQClUYkACQB1EiFSRRB9GgCAA_3d_3dE7void_2a10float64_2ay(i32* noalias nocapture writeonly %retptr, { i8*, i32, i8*, i8*, i32 }** noalias nocapture readnone %excinfo, i8* %arg.call, double* %arg.values, i64 %arg.size) local_unnamed_addr {
B0.else.if:
  %const = bitcast i64 9223372036854775800 to i64
  %.31 = sdiv i64 %arg.size, 8
  %const_mat28 = add i64 %const, 15
  %0 = and i64 %arg.size, %const_mat28
  %const_mat = add i64 %const, 8
  %.34 = icmp ugt i64 %0, %const_mat
  %.41 = sext i1 %.34 to i64
  %spec.select = add nsw i64 %.31, %.41
  %1 = tail call i64 @llvm.smax.i64(i64 %spec.select, i64 0)
  %.1814.not = icmp slt i64 %spec.select, 1
  br i1 %.1814.not, label %common.ret, label %B82.preheader

B82.preheader:                                    ; preds = %B0.else.if
  %2 = add nsw i64 %1, -1
  %xtraiter = and i64 %1, 7
  %3 = icmp ult i64 %2, 7
  br i1 %3, label %B108.unr-lcssa, label %B82.preheader.new

B82.preheader.new:                                ; preds = %B82.preheader
  %unroll_iter = and i64 %1, %const
  br label %B82

B82:                                              ; preds = %B82, %B82.preheader.new
  %total.2.07 = phi double [ 0.000000e+00, %B82.preheader.new ], [ %.250.7, %B82 ]
  %.125.05 = phi i64 [ 0, %B82.preheader.new ], [ %.194.7, %B82 ]
  %sunkaddr = mul i64 %.125.05, 8
  %4 = bitcast double* %arg.values to i8*
  %sunkaddr29 = getelementptr i8, i8* %4, i64 %sunkaddr
  %5 = bitcast i8* %sunkaddr29 to double*
  %.248 = load double, double* %5, align 8
  %.250 = fadd double %total.2.07, %.248
  %sunkaddr30 = mul i64 %.125.05, 8
  %6 = bitcast double* %arg.values to i8*
  %sunkaddr31 = getelementptr i8, i8* %6, i64 %sunkaddr30
  %sunkaddr32 = getelementptr i8, i8* %sunkaddr31, i64 8
  %7 = bitcast i8* %sunkaddr32 to double*
  %.248.1 = load double, double* %7, align 8
  %.250.1 = fadd double %.250, %.248.1
  %sunkaddr33 = mul i64 %.125.05, 8
  %8 = bitcast double* %arg.values to i8*
  %sunkaddr34 = getelementptr i8, i8* %8, i64 %sunkaddr33
  %sunkaddr35 = getelementptr i8, i8* %sunkaddr34, i64 16
  %9 = bitcast i8* %sunkaddr35 to double*
  %.248.2 = load double, double* %9, align 8
  %.250.2 = fadd double %.250.1, %.248.2
  %sunkaddr36 = mul i64 %.125.05, 8
  %10 = bitcast double* %arg.values to i8*
  %sunkaddr37 = getelementptr i8, i8* %10, i64 %sunkaddr36
  %sunkaddr38 = getelementptr i8, i8* %sunkaddr37, i64 24
  %11 = bitcast i8* %sunkaddr38 to double*
  %.248.3 = load double, double* %11, align 8
  %.250.3 = fadd double %.250.2, %.248.3
  %sunkaddr39 = mul i64 %.125.05, 8
  %12 = bitcast double* %arg.values to i8*
  %sunkaddr40 = getelementptr i8, i8* %12, i64 %sunkaddr39
  %sunkaddr41 = getelementptr i8, i8* %sunkaddr40, i64 32
  %13 = bitcast i8* %sunkaddr41 to double*
  %.248.4 = load double, double* %13, align 8
  %.250.4 = fadd double %.250.3, %.248.4
  %sunkaddr42 = mul i64 %.125.05, 8
  %14 = bitcast double* %arg.values to i8*
  %sunkaddr43 = getelementptr i8, i8* %14, i64 %sunkaddr42
  %sunkaddr44 = getelementptr i8, i8* %sunkaddr43, i64 40
  %15 = bitcast i8* %sunkaddr44 to double*
  %.248.5 = load double, double* %15, align 8
  %.250.5 = fadd double %.250.4, %.248.5
  %sunkaddr45 = mul i64 %.125.05, 8
  %16 = bitcast double* %arg.values to i8*
  %sunkaddr46 = getelementptr i8, i8* %16, i64 %sunkaddr45
  %sunkaddr47 = getelementptr i8, i8* %sunkaddr46, i64 48
  %17 = bitcast i8* %sunkaddr47 to double*
  %.248.6 = load double, double* %17, align 8
  %.250.6 = fadd double %.250.5, %.248.6
  %.194.7 = add nuw i64 %.125.05, 8
  %sunkaddr48 = mul i64 %.125.05, 8
  %18 = bitcast double* %arg.values to i8*
  %sunkaddr49 = getelementptr i8, i8* %18, i64 %sunkaddr48
  %sunkaddr50 = getelementptr i8, i8* %sunkaddr49, i64 56
  %19 = bitcast i8* %sunkaddr50 to double*
  %.248.7 = load double, double* %19, align 8
  %.250.7 = fadd double %.250.6, %.248.7
  %niter.ncmp.7 = icmp eq i64 %unroll_iter, %.194.7
  br i1 %niter.ncmp.7, label %B108.unr-lcssa, label %B82

B108.unr-lcssa:                                   ; preds = %B82, %B82.preheader
  %.250.lcssa.ph = phi double [ undef, %B82.preheader ], [ %.250.7, %B82 ]
  %total.2.07.unr = phi double [ 0.000000e+00, %B82.preheader ], [ %.250.7, %B82 ]
  %.125.05.unr = phi i64 [ 0, %B82.preheader ], [ %.194.7, %B82 ]
  %lcmp.mod.not = icmp eq i64 %xtraiter, 0
  br i1 %lcmp.mod.not, label %B108, label %B82.epil.preheader

B82.epil.preheader:                               ; preds = %B108.unr-lcssa
  %scevgep = getelementptr double, double* %arg.values, i64 %.125.05.unr
  br label %B82.epil

B82.epil:                                         ; preds = %B82.epil.preheader, %B82.epil
  %total.2.07.epil = phi double [ %.250.epil, %B82.epil ], [ %total.2.07.unr, %B82.epil.preheader ]
  %epil.iter = phi i64 [ %epil.iter.next, %B82.epil ], [ 0, %B82.epil.preheader ]
  %scevgep11 = getelementptr double, double* %scevgep, i64 %epil.iter
  %.248.epil = load double, double* %scevgep11, align 8
  %.250.epil = fadd double %total.2.07.epil, %.248.epil
  %epil.iter.next = add i64 %epil.iter, 1
  %epil.iter.cmp.not = icmp eq i64 %xtraiter, %epil.iter.next
  br i1 %epil.iter.cmp.not, label %B108, label %B82.epil, !llvm.loop !0

B108:                                             ; preds = %B82.epil, %B108.unr-lcssa
  %.250.lcssa = phi double [ %.250.lcssa.ph, %B108.unr-lcssa ], [ %.250.epil, %B82.epil ]
  %.264 = icmp sgt i64 %spec.select, 0
  br i1 %.264, label %B120.endif, label %common.ret

common.ret:                                       ; preds = %B0.else.if, %B120.endif, %B108
  %"$phi132.0.2.0" = phi double [ %.276, %B120.endif ], [ 0.000000e+00, %B108 ], [ 0.000000e+00, %B0.else.if ]
  %.293 = tail call double* @orchid_output(i8* %arg.call, i64 8)
  store double %"$phi132.0.2.0", double* %.293, align 8
  store i32 0, i32* %retptr, align 4
  ret i32 0

B120.endif:                                       ; preds = %B108
  %.268 = sitofp i64 %spec.select to double
  %.276 = fdiv double %.250.lcssa, %.268
  br label %common.ret
}

declare double* @orchid_output(i8*, i64) local_unnamed_addr

define i32 @orchid_entry_mean(i8* %.1, double* %.2, i64 %.3) local_unnamed_addr {
entry:
  %.5 = alloca i32, align 4
  store i32 0, i32* %.5, align 4
  %.9 = call i32 @_ZN8__main__4meanB2v1B52c8tJTIeFIjxB2IKSgI4CrvQClUYkACQB1EiFSRRB9GgCAA_3d_3dE7void_2a10float64_2ay(i32* nonnull %.5, { i8*, i32, i8*, i8*, i32 }** nonnull poison, i8* %.1, double* %.2, i64 %.3) #0
  %.19 = load i32, i32* %.5, align 4
  ret i32 %.19
}

; Function Attrs: noinline
define linkonce_odr void @NRT_decref(i8* %.1) local_unnamed_addr #0 {
.3:
  %.4 = icmp eq i8* %.1, null
  br i1 %.4, label %common.ret1, label %.3.endif, !prof !2

common.ret1:                                      ; preds = %.3, %.3.endif
  ret void

.3.endif:                                         ; preds = %.3
  fence release
  %.8 = bitcast i8* %.1 to i64*
  %.4.i = atomicrmw sub i64* %.8, i64 1 monotonic, align 8
  %.10 = icmp eq i64 %.4.i, 1
  br i1 %.10, label %.3.endif.if, label %common.ret1, !prof !2

.3.endif.if:                                      ; preds = %.3.endif
  fence acquire
  tail call void @NRT_MemInfo_call_dtor(i8* nonnull %.1)
  ret void
}

declare void @NRT_MemInfo_call_dtor(i8*) local_unnamed_addr

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.smax.i64(i64, i64) #1

attributes #0 = { noinline }
attributes #1 = { nocallback nofree nosync nounwind readnone speculatable willreturn }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = !{!"branch_weights", i32 1, i32 99}
