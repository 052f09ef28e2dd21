;; by_columns
; As many columns at a time as there are lanes, from %column on.
define internal void @$name(ptr %rows, ptr %columns, i64 %i) noinline #0 {
entry:
br label %block
block:
%column = phi i64 [ 0, %entry ], [ %then, %block ]
$lines
%next = add i64 %column, $lanes
%fits = icmp ult i64 %next, $last
%then = select i1 %fits, i64 %next, i64 $last
%more = icmp ult i64 %column, $last
br i1 %more, label %block, label %done
done:
ret void
}
