@qualifier @T armlet_@{name}@{f}(@T x)
{
    @T sine, cosine;
    armlet_sincos@{f}(x, &sine, &cosine);
    return @result;
}
