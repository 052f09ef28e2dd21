/* A step of the classical Runge-Kutta integrator; torques are held. */
static void advance(Values *x, double h)
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
