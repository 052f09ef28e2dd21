/* 2M 2A, 2 cos */
static __device__ void gravity_torque(long long stride, const double *q, double *out)
{
    const double v0 = q[0 * stride];
    const double v1 = q[1 * stride];
    const double v2 = v0 + v1;
    const double v3 = cos(v0);
    const double v4 = cos(v2);
    const double v5 = 4.905 * v4;
    const double v6 = fma(14.715, v3, v5);
    out[0 * stride] = v6;
    out[1 * stride] = v5;
}

/* One thread per state: entry k of state i is at [k * count + i] of its array. */
extern "C" __global__ void gravity_torque_kernel(long long count, const double *q, double *out)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        gravity_torque(count, q + i, out + i);
    }
}
