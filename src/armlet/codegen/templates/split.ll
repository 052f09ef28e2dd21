;; one
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
$declarations
define void @one($pointers) #0 {
%memory = alloca [$size x $T], align $aligned
$constants
$calls
ret void
}

;; many
declare ptr @malloc(i64)
declare void @free(ptr)
$transposing
$declarations
define void @many($pointers, i64 %from, i64 %to) #0 {
entry:
%hoisted = alloca [$hoisted x $F]
%allocated = call ptr @malloc(i64 $size)
%address = ptrtoint ptr %allocated to i64
%over = urem i64 %address, $aligned
%skipped = sub i64 $aligned, %over
%memory = getelementptr i8, ptr %allocated, i64 %skipped
$before
$rows
call void @free(ptr %allocated)
ret void
}
