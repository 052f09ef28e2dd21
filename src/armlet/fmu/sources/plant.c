void model_start(Values *x)
{
    memcpy(x->q, x->q0, sizeof x->q);
    memcpy(x->qd, x->qd0, sizeof x->qd);
}

/* A step of Runge and Kutta's classical method; torques are held. */
static void rk4(Values *x, double h)
{
    static const double ahead[4] = {0.0, 0.5, 0.5, 1.0};
    static const double weight[4] = {1.0, 2.0, 2.0, 1.0};
    double q[@n], qd[@n] = {0.0}, qdd[@n] = {0.0}, sum_qd[@n] = {0.0}, sum_qdd[@n] = {0.0};
    int i, k;
    for (k = 0; k < 4; k++) {
        for (i = 0; i < @n; i++) {
            q[i] = x->q[i] + ahead[k] * h * qd[i];
            qd[i] = x->qd[i] + ahead[k] * h * qdd[i];
        }
        @{name}_acceleration(q, qd, x->tau, qdd);
        for (i = 0; i < @n; i++) {
            sum_qd[i] += weight[k] * qd[i];
            sum_qdd[i] += weight[k] * qdd[i];
        }
    }
    for (i = 0; i < @n; i++) {
        x->q[i] += h / 6.0 * sum_qd[i];
        x->qd[i] += h / 6.0 * sum_qdd[i];
    }
}

/* Steps of equal length, none longer than the parameter but for rounding. */
const char *model_step(Values *x, double duration)
{
    const double ratio = duration / x->step[0];
    const double steps = duration > 0.0 ? fmax(1.0, ceil(ratio - 1e-6)) : 0.0;
    long k;
    if (!(x->step[0] > 0.0 && steps < 1e9)) {
        return "step";
    }
    for (k = 0; k < (long)steps; k++) {
        rk4(x, duration / steps);
    }
    return NULL;
}
