/* @mark */

#include "@include"

@preamble
@definitions
