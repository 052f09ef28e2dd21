"""Programs as source code: C, C++, CUDA, Python, MATLAB, Julia and LaTeX."""
