;; function
define internal $P @sincos.$name.$S($V %x) $attribute nounwind {
$lines
%one = insertvalue $P poison, $V %sin, 0
%result = insertvalue $P %one, $V %cos, 1
ret $P %result
}

;; small
; The sine of %r on [-π/4, π/4], with the sign of %r; then the first terms of the cosine.
%small = call $V @llvm.copysign.$S($V %unsigned, $V %r)
%zz = fmul $V %z, %z
%half = fmul $V %z, $a_half
%w = fsub $V $one, %half
%w.lost = fsub $V $one, %w
%w.rest = fsub $V %w.lost, %half

;; large
; The cosine of %r; an odd quadrant exchanges it with the sine.
%large = fadd $V %w, %tail
%odd = trunc $I %quadrant to $B
%sin.size = select $B %odd, $V %large, $V %small
%cos.size = select $B %odd, $V %small, $V %large

;; sign
; The sign is bit 1 of the quadrant for the sine, and of the next quadrant for the cosine.
%$name.turn = add $I %quadrant, $shift
%$name.top = shl $I %$name.turn, $to_the_top
%$name.sign = and $I %$name.top, $sign_bit
%$name.bits = bitcast $V %$name.size to $I
%$name.signed = xor $I %$name.bits, %$name.sign
%$name = bitcast $I %$name.signed to $V

;; far
%near = call $P @sincos.near.$S($V %x)
%abs = call $V @llvm.fabs.$S($V %x)
%is_far = fcmp ugt $V %abs, $reach
$far_lanes
%sin.near = extractvalue $P %near, 0
%sin = select $B %is_far, $V %sin.far, $V %sin.near
%cos.near = extractvalue $P %near, 1
%cos = select $B %is_far, $V %cos.far, $V %cos.near

;; as_doubles
%wide = fpext $V %x to $W
%both = call $P @sincos.far.$S($W %wide)
%sin.wide = extractvalue $P %both, 0
%sin.far = fptrunc $W %sin.wide to $V
%cos.wide = extractvalue $P %both, 1
%cos.far = fptrunc $W %cos.wide to $V
