/* One thread per state: entry k of state i is at [k * count + i] of its array. */
extern "C" __global__ @head
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        @name(@arguments);
    }
}
