/* @mark
 * Dynamics of @robot. Joints in the order of q, R revolute and P prismatic:
 * @order.
 * Units are SI. Matrices are stored row by row. Arguments are read before results are written, so
 * that a result may overwrite an argument.
 */
