/* 6M 2A, 2 cos, 2 sin */
static __device__ void gravity_torque(long long stride, const double *q, double *out)
{
    const double v0 = q[0 * stride];
    const double v1 = q[1 * stride];
    const double v2 = cos(v0);
    const double v3 = sin(v0);
    const double v4 = cos(v1);
    const double v5 = sin(v1);
    const double v6 = 9.81 * v3;
    const double v7 = 9.81 * v2;
    const double v8 = v5 * v6;
    const double v9 = v4 * v7;
    const double v10 = v9 - v8;
    const double v11 = 1.5 * v7;
    const double v12 = 0.5 * v10;
    const double v13 = v11 + v12;
    out[0 * stride] = v13;
    out[1 * stride] = v12;
}

/* One state a thread: entry k of state i is at [k * count + i] of its array. */
extern "C" __global__ void gravity_torque_kernel(long long count, const double *q, double *out)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        gravity_torque(count, q + i, out + i);
    }
}
