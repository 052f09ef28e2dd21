;; loop
; The steps of a loop, in stages; %k counts stages.
$before
%turns = mul i64 %steps, $stages
br label %begun
begun:
br label %turn
turn:
%k = phi i64 [ 0, %begun ], [ %k.next, %turned ]
$phis
%stage = urem i64 %k, $stages
%k.steps = udiv i64 %k, $stages
%step = add i64 %first, %k.steps
$within
br label %turned
turned:
%k.next = add i64 %k, 1
%k.last = icmp eq i64 %k.next, %turns
br i1 %k.last, label %finished, label %turn
finished:
$after

;; record
; Store an output as a row, if this step is the last one of a row or of the loop.
%$name.done = add i64 %step, 1
%$name.rest = urem i64 %$name.done, %every
%$name.full = icmp eq i64 %$name.rest, 0
%$name.is_last = icmp eq i64 %stage, $last_stage
%$name.is_full = and i1 %$name.full, %$name.is_last
%$name.turns = add i64 %k, 1
%$name.end = icmp eq i64 %$name.turns, %turns
%$name.is_row = or i1 %$name.is_full, %$name.end
br i1 %$name.is_row, label %$name.write, label %$name.go_on
$name.write:
%$name.row = udiv i64 %step, %every
%$name.size = mul i64 %runs, $size
