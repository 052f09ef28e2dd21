void model_start(Values *x) { (void)x; }

const char *model_step(Values *x, double duration)
{
    (void)x;
    (void)duration;
    return NULL;
}
