@expected
static int check_@name(void)
{
@results
    for (int k = 0; k < @states; k++) {
        @name(@arguments);
    }
    return @comparisons;
}
