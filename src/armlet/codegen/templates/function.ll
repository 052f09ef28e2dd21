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

;; is_far
%$tag.$g.abs = call $V @llvm.fabs.$S($V $x)
%$tag.$g.far = fcmp ugt $V %$tag.$g.abs, $reach
%$tag.$g.bits = bitcast <$lanes x i1> %$tag.$g.far to i$lanes
%$tag.$g.any = or i$lanes $others, %$tag.$g.bits

;; sines
; Sines and cosines by @sincos.near, or by @sincos.far if an angle is out of reach.
$checks
%$tag.is_far = icmp ne i$lanes $far_off, 0
br i1 %$tag.is_far, label %$tag.far, label %$tag.near
$tag.near:
$near
br label %$tag.join
$tag.far:
$far
br label %$tag.join
$tag.join:
$both

;; both
%$tag.$g.both = phi $P [ %$tag.$g.near.both, %$tag.near ], [ %$tag.$g.far.both, %$tag.far ]
