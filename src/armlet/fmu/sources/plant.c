void model_start(Values *x)
{
    memcpy(x->q, x->q0, sizeof x->q);
    memcpy(x->qd, x->qd0, sizeof x->qd);
}

@integrator

/* Make steps of equal length, none longer than the parameter `step`, up to rounding. */
const char *model_step(Values *x, double duration)
{
    const double ratio = duration / x->step[0];
    const double steps = duration > 0.0 ? fmax(1.0, ceil(ratio - 1e-6)) : 0.0;
    long k;
    if (!(x->step[0] > 0.0 && steps < 1e9)) {
        return "step";
    }
    for (k = 0; k < (long)steps; k++) {
        advance(x, duration / steps);
    }
    return NULL;
}
