/* Sine and cosine, off by at most 2 units in the last place; beyond 1000.0f as doubles. */
@qualifier void armlet_sincosf(float x, float *sine, float *cosine)
{
    if (!(fabsf(x) <= 1000.0f)) {
        double wide_sine, wide_cosine;
        armlet_sincos((double)x, &wide_sine, &wide_cosine);
        *sine = (float)wide_sine;
        *cosine = (float)wide_cosine;
        return;
    }
    const float t = x * 0.63661975f + 1.2582912e+07f;
    const float k = t - 1.2582912e+07f;
    const int quadrant = (int)k;
    const float r0 = k * -1.5706787f + x;
    const float r1 = k * -0.000117614865f + r0;
    const float lost1 = k * 0.000117614865f + (r1 - r0);
    const float r2 = k * -9.920313e-10f + r1;
    const float lost2 = k * 9.920313e-10f + (r2 - r1 + lost1);
    const float r = r2 - (k * 6.223372e-14f + lost2);
    const float z = r * r;
    float p = -0.00019517897f;
    p = p * z + 0.008332187f;
    p = p * z + -0.16666655f;
    const float odd = r * z;
    const float small = copysignf(odd * p + r, r);
    float s = 2.4432327e-05f;
    s = s * z + -0.001388731f;
    s = s * z + 0.041666646f;
    const float half = z * 0.5f;
    const float w = 1.0f - half;
    const float rest = 1.0f - w - half;
    const float square = z * z;
    const float tail = square * s + rest;
    const float large = w + tail;
    const float u = (quadrant & 1) ? large : small;
    const float v = (quadrant & 1) ? small : large;
    *sine = (quadrant & 2) ? -u : u;
    *cosine = ((quadrant + 1) & 2) ? -v : v;
}
