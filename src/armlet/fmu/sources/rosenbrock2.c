/* A step of the integrator ROS2, implicit in friction and stops; torques are held. */
static void advance(Values *x, double h)
{
    double q[@n], qd[@n];
    @{name}_rosenbrock2(x->q, x->qd, x->tau, &h, q, qd);
    memcpy(x->q, q, sizeof q);
    memcpy(x->qd, qd, sizeof qd);
}
