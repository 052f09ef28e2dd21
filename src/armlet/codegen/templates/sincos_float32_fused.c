/* Sine and cosine, off by at most 2 units in the last place; beyond 100000.0f as doubles. */
@qualifier void armlet_sincosf(float x, float *sine, float *cosine)
{
    if (!(fabsf(x) <= 100000.0f)) {
        double wide_sine, wide_cosine;
        armlet_sincos((double)x, &wide_sine, &wide_cosine);
        *sine = (float)wide_sine;
        *cosine = (float)wide_cosine;
        return;
    }
    const float t = fmaf(x, 0.63661975f, 1.2582912e+07f);
    const float k = t - 1.2582912e+07f;
    const int quadrant = (int)k;
    const float r0 = fmaf(k, -1.5707963f, x);
    const float r1 = fmaf(k, -7.5497894e-08f, r0);
    const float r = fmaf(k, -5.3903025e-15f, r1);
    const float z = r * r;
    float p = -0.00019517897f;
    p = fmaf(p, z, 0.008332187f);
    p = fmaf(p, z, -0.16666655f);
    const float odd = r * z;
    const float small = copysignf(fmaf(odd, p, r), r);
    float s = 2.4432327e-05f;
    s = fmaf(s, z, -0.001388731f);
    s = fmaf(s, z, 0.041666646f);
    const float half = z * 0.5f;
    const float w = 1.0f - half;
    const float rest = 1.0f - w - half;
    const float square = z * z;
    const float tail = fmaf(square, s, rest);
    const float large = w + tail;
    const float u = (quadrant & 1) ? large : small;
    const float v = (quadrant & 1) ? small : large;
    *sine = (quadrant & 2) ? -u : u;
    *cosine = ((quadrant + 1) & 2) ? -v : v;
}
