;; entry
; The numbers are offsets in bytes. A frame has its extensions at 8, the API at 16, and the arrays of
; arguments and results at 72 and 112. An extension has the metadata at 24; the metadata have the
; version asked for at 24 (two i32) and flags at 32; the API has its own version at 32.
define ptr @xla(ptr %frame) nounwind {
start:
%extensions.at = getelementptr i8, ptr %frame, i64 8
%extensions = load ptr, ptr %extensions.at
%is_call = icmp eq ptr %extensions, null
br i1 %is_call, label %call, label %asked
asked:
%api.at = getelementptr i8, ptr %frame, i64 16
%api = load ptr, ptr %api.at
%metadata.at = getelementptr i8, ptr %extensions, i64 24
%metadata = load ptr, ptr %metadata.at
%version.at = getelementptr i8, ptr %metadata, i64 24
%api_version.at = getelementptr i8, ptr %api, i64 32
%traits.at = getelementptr i8, ptr %metadata, i64 32
store i32 0, ptr %traits.at
%no_api = icmp eq ptr %api, null
br i1 %no_api, label %first, label %same
first:
store i64 0, ptr %version.at
ret ptr null
same:
%api_version = load i64, ptr %api_version.at
store i64 %api_version, ptr %version.at
ret ptr null
call:
%arguments.at = getelementptr i8, ptr %frame, i64 72
%arguments = load ptr, ptr %arguments.at
%results.at = getelementptr i8, ptr %frame, i64 112
%results = load ptr, ptr %results.at
$pointers
%rank.at = getelementptr i8, ptr %p$first.buffer, i64 32
%rank = load i64, ptr %rank.at
%sizes.at = getelementptr i8, ptr %p$first.buffer, i64 40
%sizes = load ptr, ptr %sizes.at
; The rows of the first result: the product of its axes before those of one state.
%axes = sub i64 %rank, $rank
br label %axis
axis:
%k = phi i64 [ 0, %call ], [ %k.next, %more_axes ]
%rows = phi i64 [ 1, %call ], [ %rows.next, %more_axes ]
%is_axis = icmp slt i64 %k, %axes
br i1 %is_axis, label %more_axes, label %counted
more_axes:
%size.at = getelementptr i64, ptr %sizes, i64 %k
%size = load i64, ptr %size.at
%rows.next = mul i64 %rows, %size
%k.next = add i64 %k, 1
br label %axis
counted:
$run
ret ptr null
}

;; pointer
; A buffer has the address of its entries at 24, the number of its axes at 32, their lengths at 40.
%p$i.at = getelementptr ptr, ptr %$kind, i64 $k
%p$i.buffer = load ptr, ptr %p$i.at
%p$i.data = getelementptr i8, ptr %p$i.buffer, i64 24
%p$i = load ptr, ptr %p$i.data

;; row_by_row
br label %row
row:
%i = phi i64 [ 0, %counted ], [ %i.next, %this ]
%is_row = icmp slt i64 %i, %rows
br i1 %is_row, label %this, label %done
this:
%i.next = add i64 %i, 1
$places
call void @one($pointers)
br label %row
done:

;; place
%p$k.first = mul i64 %i, $size
%p$k.here = getelementptr $F, ptr %p$k, i64 %p$k.first
