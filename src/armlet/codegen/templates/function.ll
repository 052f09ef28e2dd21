;; declarations
declare $T @llvm.fma.$S($T, $T, $T)
declare $T @llvm.sqrt.$S($T)
declare $T @llvm.fabs.$S($T)
declare $T @llvm.floor.$S($T)
declare $T @llvm.copysign.$S($T, $T)

;; rows
; A loop over the rows %from to %to, with one row per lane from %i on.
%last = sub i64 %to, $lanes
br label %begin
begin:
br label %rows
rows:
%i = phi i64 [ %from, %begin ], [ %then, %stored ]
$lines
br label %stored
stored:
%next = add i64 %i, $lanes
%fits = icmp ult i64 %next, %last
%then = select i1 %fits, i64 %next, i64 %last
%more = icmp ult i64 %i, %last
br i1 %more, label %rows, label %done
done:
